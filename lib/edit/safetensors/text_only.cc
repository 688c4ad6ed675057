#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "arch/families.h"
#include "base/text.h"
#include "edit/safetensors/edited_set.h"
#include "formats/hf/names.h"
#include "json/reader.h"

namespace modelutils::to_safetensors {

namespace {

tl::unexpected<Error> no_text_model(const StOperation& operation, const std::string& message) {
  return input_error("edit-text-only", fmt::format("{}: {}", operation.where(), message), at_field("text_config"));
}

// Returns letters and digits in lower case: "qwen35" for "Qwen3_5".
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

// Returns the class of the language model alone: "Gemma3ForCausalLM" for "gemma3_text"; empty if the family has none.
std::string text_class(const arch::Family& family, std::string_view model_type) {
  constexpr std::string_view text_ending = "_text", class_ending = "ForCausalLM";
  if (model_type.ends_with(text_ending)) model_type.remove_suffix(text_ending.size());
  std::string found;
  for_each_name(family.classes, [&](std::string_view name) {
    if (!found.empty() || !name.ends_with(class_ending)) return;
    if (plain(name.substr(0, name.size() - class_ending.size())) == plain(model_type)) found = name;
  });
  return found;
}

// Removes the indentation of the last line from each line of a nested JSON value, as if it were not nested.
std::string outdented(std::string_view json) {
  const std::size_t last = json.rfind('\n');
  if (last == json.npos) return std::string(json);
  const std::size_t indent = json.find_first_not_of(' ', last + 1) - last - 1;
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json[i] != '\n') continue;
    for (std::size_t k = 0; k < indent && i + 1 < json.size() && json[i + 1] == ' '; ++k) ++i;
  }
  return out;
}

// Removes the prefix of the language model from a regular expression: "re:.*language_model\\.model\\.layers\\.0".
std::string without_wrapper(std::string pattern) {
  constexpr std::string_view wrapper = "language_model";
  for (std::size_t at = pattern.find(wrapper); at != pattern.npos; at = pattern.find(wrapper, at)) {
    const std::string_view rest = std::string_view(pattern).substr(at + wrapper.size());
    const bool is_dot =
        rest.starts_with('.') && (rest.size() == 1 || std::string_view("*+?").find(rest[1]) == rest.npos);
    pattern.erase(at, wrapper.size() + (rest.starts_with("\\.") ? 2 : is_dot ? 1 : 0));
  }
  return pattern;
}

// Returns the name or pattern that selects the same modules in the language model alone; nullopt for modules of other
// parts.
std::optional<std::string> renamed_module(std::string_view name) {
  if (name.starts_with("re:")) return without_wrapper(std::string(name));
  const std::string canonical = hf::canonical_name(name);
  return hf::classify_name(canonical + ".") == hf::NameClass::other_modality ? std::nullopt : std::optional(canonical);
}

// Gives the modules of quantisation settings the names that they have in the language model.
void rename_settings(hf::ConfigEdit& config, const std::string& path) {
  config.edit_names(path, renamed_module);
  config.edit_names(path + "/quantized_layers", renamed_module);
  const auto rename_list = [&](const std::string& list) {
    config.edit_list(list, [&](std::size_t, std::string_view element) -> std::optional<std::string> {
      const auto document = json::parse(std::string(element), list);
      std::string_view name;
      if (!document || !(*document)->root.get(name)) return std::string(element);
      const std::optional<std::string> renamed = renamed_module(name);
      if (renamed && *renamed == name) return std::string(element);
      return renamed ? std::optional(hf::json_string(*renamed)) : std::nullopt;
    });
  };
  for (const char* const list : module_lists) rename_list(path + "/" + list);
  for (const std::string& group : config.names(path + "/config_groups")) {
    rename_list(path + "/config_groups/" + group + "/targets");
  }
}

Status make_config(EditedSet& set, const std::string& class_name, const std::string& model_type) {
  const hf::ConfigEdit& whole = *set.config;
  MU_ASSIGN(hf::ConfigEdit config,
            hf::ConfigEdit::parse(outdented(*whole.find("text_config")) + "\n", set.model.config()->path));
  config.set("architectures", "[\n    " + hf::json_string(class_name) + "\n  ]");
  config.set("model_type", hf::json_string(model_type));
  for (const char* const field :
       {"torch_dtype", "dtype", "bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings", "quantization",
        "quantization_config", "transformers_version"}) {
    const auto value = whole.find(field);
    if (value && !config.find(field)) config.set(field, *value);
  }
  for (const char* const settings : {"quantization", "quantization_config"}) rename_settings(config, settings);
  set.config->replace(config.text());
  if (set.quantizer) rename_settings(*set.quantizer, "quantization");
  return {};
}

}  // namespace

Status keep_text(EditedSet& set, const StOperation& operation) {
  const hf::Config* config = set.model.config();
  if (config == nullptr || !set.config) return no_text_model(operation, "needs a directory with a config.json");
  if (!config->has_text_config || !set.config->find("text_config")) {
    return no_text_model(operation, "config.json has no text_config, so there is no other part to leave out");
  }
  const std::string type = config->model_type;
  const arch::Family* family = arch::find_family("", type);
  const std::string class_name = family == nullptr ? std::string() : text_class(*family, type);
  if (class_name.empty()) {
    return no_text_model(operation, fmt::format("no class of transformers is the language model of '{}' alone", type));
  }
  std::vector<bool> is_dropped;
  std::vector<std::string> names;
  u64 dropped = 0;
  for (const EditedTensor& tensor : set.tensors) {
    const std::string canonical = hf::canonical_name(tensor.name);
    const bool is_other = hf::classify_name(canonical) == hf::NameClass::other_modality;
    is_dropped.push_back(is_other);
    dropped += is_other ? 1 : 0;
    if (!is_other) names.push_back(canonical);
  }
  if (names.empty()) return no_text_model(operation, "there are no tensors of a language model");
  drop_tensors(set, is_dropped);
  rename_tensors(set, std::move(names));
  MU_TRY(make_config(set, class_name, type));
  for (const char* const name :
       {"preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"}) {
    set.dropped_files.emplace_back(name);
  }
  set.report.changes.push_back(fmt::format("config.json: {}, model_type {}; {} of other parts left out", class_name,
                                           type, counted(dropped, "tensor")));
  return {};
}

}  // namespace modelutils::to_safetensors
