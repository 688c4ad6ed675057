#include "convert/to_directory/config_from_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "arch/config_writer.h"
#include "arch/facts.h"
#include "arch/families.h"
#include "arch/stacks.h"
#include "formats/gguf/parse.h"
#include "formats/hf/config.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

std::string PublishedNames::in_layer(const arch::Tensor& row, u64 layer, std::string_view module) const {
  const bool is_hf = style_ == DirectoryStyle::hugging_face && !family_->hf_layer_prefix.empty();
  return arch::module_in_layer(row, is_hf ? family_->hf_layer_prefix : family_->layer_prefixes, layer, module);
}

std::string PublishedNames::of_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part,
                                    u64 number) const {
  std::string module(part.module);
  if (part.is_stacked()) module.replace(module.find('#'), 1, std::to_string(number));
  const bool is_complete = expected.row->name.starts_with('@');
  // Hugging Face's expert stacks have no suffix.
  const bool is_stack = style_ == DirectoryStyle::hugging_face && !part.is_stacked() &&
                        part.module.find("experts.") != std::string_view::npos &&
                        part.module.find("shared_expert") == std::string_view::npos;
  const std::string_view suffix = is_complete                           ? std::string_view{}
                                  : expected.side == arch::Side::bias   ? ".bias"
                                  : is_stack && expected.ne.size() == 3 ? std::string_view{}
                                                                        : ".weight";
  if (expected.in_layer) module = in_layer(*expected.row, expected.layer, module);
  return module + std::string(suffix);
}

std::string PublishedNames::published(std::string name) const {
  const arch::ConfigForm& form = family_->config;
  if (form.text_model_type.empty()) return name;
  constexpr std::string_view model = "model.";
  constexpr std::string_view wrapper = "language_model.";
  const std::string_view prefix = style_ == DirectoryStyle::mlx ? form.mlx_text_prefix : form.hf_text_prefix;
  if (name.starts_with(model)) {
    name.replace(0, model.size(), prefix);
  } else if (prefix.starts_with(wrapper)) {
    name.insert(0, wrapper);
  }
  return name;
}

}  // namespace modelutils

namespace modelutils::to_directory {

namespace {

hf::ConfigMembers params_members(const mlx::Params& params) {
  return {{"group_size", params.group_size}, {"bits", params.bits}, {"mode", mlx::mode_name(params.mode)}};
}

// Returns the type of most plain values, or of most scales if all tensors are packed.
TensorType usual_type(const DirectoryMap& map, const std::vector<DirectoryForm>& forms) {
  std::map<TensorType, u64> plain;
  std::map<TensorType, u64> scales;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const DirectoryForm& form = forms[i];
    (form.is_packed() ? scales : plain)[form.type] += map.tensors[i].elements();
  }
  plain.erase(TensorType::U8);
  scales.erase(TensorType::U8);
  const auto& counts = plain.empty() ? scales : plain;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? TensorType::BF16 : most->first;
}

}  // namespace

std::optional<hf::ConfigMembers> quantization_members(const DirectoryMap& map,
                                                      const std::vector<DirectoryForm>& forms) {
  std::vector<std::pair<mlx::Params, u64>> uses;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (!forms[i].is_packed()) continue;
    const auto known =
        std::find_if(uses.begin(), uses.end(), [&](const auto& use) { return use.first == forms[i].params; });
    const u64 elements = map.tensors[i].elements();
    if (known == uses.end()) {
      uses.emplace_back(forms[i].params, elements);
    } else {
      known->second += elements;
    }
  }
  if (uses.empty()) return std::nullopt;
  const mlx::Params usual = std::max_element(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                            })->first;
  hf::ConfigMembers members = params_members(usual);
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const mlx::Params& params = forms[i].params;
    if (!forms[i].is_packed() || params == usual) continue;
    members.push_back({map.tensors[i].module(), params_members(params)});
  }
  return members;
}

std::string_view torch_dtype(const DirectoryMap& map, const std::vector<DirectoryForm>& forms) {
  const TensorType type = usual_type(map, forms);
  return type == TensorType::BF16 ? "bfloat16" : type == TensorType::F16 ? "float16" : "float32";
}

}  // namespace modelutils::to_directory

namespace modelutils {

namespace {

using arch::Family;
using arch::has_name;
namespace symbol = arch::symbol;

tl::unexpected<Error> unknown_architecture(const gguf::SplitSet& set, std::string message) {
  return input_error("config-architecture", std::move(message), at_key("general.architecture"), {},
                     set.files.front().path);
}

Result<const Family*> find_family(const gguf::SplitSet& set, const gguf::Index& index) {
  const std::string_view type = index.string_value("general.type").value_or("model");
  if (type != "model") {
    return input_error("config-architecture", fmt::format("is '{}': only a whole model has a config.json", type),
                       at_key("general.type"), {}, set.files.front().path);
  }
  const std::string_view name = index.architecture();
  if (name.empty()) return unknown_architecture(set, "is missing");
  if (name == "clip") return unknown_architecture(set, "is 'clip': an image or audio encoder, not a language model");
  const Family* family = arch::find_family(index);
  if (family == nullptr)
    return unknown_architecture(set, fmt::format("is '{}', for which no config.json can be written", name));
  return family;
}

// Returns the family that has `model_type` among those with the architecture of `found`.
Result<const Family*> choose_family(const Family& found, std::string_view model_type) {
  if (model_type.empty() || has_name(found.model_types, model_type)) return &found;
  std::string known(found.model_types);
  for (const Family* family : arch::all_families()) {
    if (family->gguf != found.gguf || family == &found) continue;
    if (has_name(family->model_types, model_type)) return family;
    known += "|" + std::string(family->model_types);
  }
  std::replace(known.begin(), known.end(), '|', ' ');
  return usage_error(fmt::format("--model-type {}: for architecture {}, it can be {}", model_type, found.gguf, known));
}

std::string without_marks(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
  }
  return letters;
}

// Returns the class for a model type: the one whose name starts with it ("mistral": MistralForCausalLM), otherwise the
// family's first.
std::string_view class_of(const Family& family, std::string_view model_type) {
  std::string_view found = arch::first_name(family.classes);
  if (model_type == arch::first_name(family.model_types)) return found;
  const std::string wanted = without_marks(model_type);
  bool is_found = false;
  for_each_name(family.classes, [&](std::string_view name) {
    if (is_found || !without_marks(name).starts_with(wanted)) return;
    found = name;
    is_found = true;
  });
  return found;
}

constexpr std::array<std::string_view, 14> turn_ends = {
    "<|eot_id|>",         "<|im_end|>", "<|end|>",  "<end_of_turn>", "<|endoftext|>",
    "<|end_of_text|>",    "<EOT>",      "_<EOT>",   "[EOT]",         "<｜end▁of▁sentence｜>",
    "<end_of_utterance>", "<|return|>", "<|call|>", "<|eom_id|>"};

hf::ConfigValue one_or_list(const std::vector<u64>& ids) {
  if (ids.size() == 1) return ids.front();
  return hf::config_list(ids);
}

void add_tokens(const gguf::Index& index, const std::vector<u64>& ends, u64 vocabulary, hf::ConfigMembers& members) {
  for (const std::string_view role : {"bos", "pad"}) {
    const auto id = index.unsigned_value(tokenizer::find_token_role(role)->key);
    if (id && *id < vocabulary) hf::set_member(members, fmt::format("{}_token_id", role), *id);
  }
  if (!ends.empty()) hf::set_member(members, "eos_token_id", one_or_list(ends));
}

void add_sampling(const gguf::Index& index, hf::ConfigMembers& members) {
  constexpr std::pair<std::string_view, std::string_view> numbers[] = {
      {"temperature", "temp"}, {"top_p", "top_p"}, {"min_p", "min_p"}, {"repetition_penalty", "penalty_repeat"}};
  for (const auto& [name, key] : numbers) {
    if (const auto value = index.float_value(fmt::format("general.sampling.{}", key))) {
      if (std::isfinite(*value)) hf::set_member(members, name, *value);
    }
  }
  if (const auto value = index.unsigned_value("general.sampling.top_k")) hf::set_member(members, "top_k", *value);
}

// Moves the members of a multimodal class's language model into text_config, which has its own model type.
hf::ConfigMembers wrapped(const Family& family, hf::ConfigMembers& members) {
  constexpr std::string_view outside = "architectures|model_type|bos_token_id|pad_token_id|eos_token_id";
  hf::ConfigMembers outer, inner = {{"model_type", family.config.text_model_type}};
  for (hf::ConfigMember& member : members) {
    const bool is_of_both = member.name == "tie_word_embeddings";
    if (is_of_both) outer.push_back(member);
    (has_name(outside, member.name) ? outer : inner).push_back(std::move(member));
  }
  outer.push_back({"text_config", std::move(inner)});
  return outer;
}

// Checks the config with verify's rules before anything is written.
Status check_fields(const hf::ConfigMembers& members, const std::string& file) {
  MU_ASSIGN(const hf::Config config, hf::parse_config(hf::config_text(members), "config.json"));
  const Findings findings = config.findings.findings();
  const Finding* broken = first_error(findings);
  if (broken == nullptr) return {};
  return input_error("config-key", fmt::format("give config.json a {} that {}", broken->where, broken->message),
                     "hyper-parameters", {}, file);
}

}  // namespace

Result<std::vector<u64>> end_of_generation_ids(const gguf::SplitSet& set, u64 vocabulary) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  std::vector<u64> ids;
  const auto add = [&](u64 id) {
    if (id < vocabulary && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  };
  for (const std::string_view role : {"eos", "eot", "eom"}) {
    if (const auto id = index.unsigned_value(tokenizer::find_token_role(role)->key)) add(*id);
  }
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  const gguf::ArrayRef* types = index.array_value("tokenizer.ggml.token_type");
  if (tokens == nullptr || types == nullptr || tokens->element_type != gguf::ValueType::string ||
      gguf::value_size(types->element_type) == 0) {
    return ids;
  }
  MU_ASSIGN(const std::vector<i64> kinds, gguf::read_numbers<i64>(*file.source, file.document, *types));
  MU_TRY(gguf::visit_strings(*file.source, file.document, *tokens, [&](u64 id, std::string_view text, u64) {
    constexpr auto control = static_cast<i64>(tokenizer::TokenType::control);
    const bool is_control = id < kinds.size() && kinds[static_cast<std::size_t>(id)] == control;
    if (is_control && std::find(turn_ends.begin(), turn_ends.end(), text) != turn_ends.end()) add(id);
    return true;
  }));
  return ids;
}

Result<HfConfig> hf_config_from_keys(const gguf::SplitSet& set, const HfConfigOptions& options) {
  const gguf::Index index(set.files.front().document);
  MU_ASSIGN(const Family* found, find_family(set, index));
  MU_ASSIGN(const Family* family, choose_family(*found, options.model_type));

  HfConfig config;
  config.family = family;
  MU_ASSIGN(config.sizes, arch::read_gguf_sizes(*family, index, set.files.front()));
  arch::leave_out_prediction(*family, index, config.sizes);
  arch::ConfigWriter out(*family, set, index, config.sizes);
  if (const std::vector<u64> shape = out.shape("token_embd.weight"); shape.size() == 2) {
    config.sizes.set(symbol::vocabulary, shape[1]);
  }

  const std::string_view own_type =
      family->config.model_type.empty() ? arch::first_name(family->model_types) : family->config.model_type;
  config.model_type = options.model_type.empty() ? std::string(own_type) : options.model_type;
  config.class_name = class_of(*family, config.model_type);
  out.set("architectures", hf::config_list(std::vector<std::string>{config.class_name}));
  out.set("model_type", config.model_type);
  MU_TRY(arch::write_config_members(out));
  const bool is_tied = options.is_tied.value_or(!out.has_tensor("output.weight"));
  out.set(out.spelled("tie_word_embeddings|weight_tying|share_input_output_layers"), is_tied);
  const u64 vocabulary = config.sizes.get(symbol::vocabulary);
  MU_ASSIGN(const std::vector<u64> ends, end_of_generation_ids(set, vocabulary));
  add_tokens(index, ends, vocabulary, out.members);
  add_tokens(index, ends, vocabulary, config.generation);
  add_sampling(index, config.generation);

  config.assumed = std::move(out.assumed);
  config.config = family->config.text_model_type.empty() ? std::move(out.members) : wrapped(*family, out.members);
  MU_TRY(check_fields(config.config, set.files.front().path));
  // The family's own function may have set a more specific class.
  const auto text_of = [](const hf::ConfigValue& value) { return std::get<std::string>(value.value); };
  config.model_type = text_of(*hf::find_member(config.config, "model_type"));
  const hf::ConfigValue& classes = *hf::find_member(config.config, "architectures");
  config.class_name = text_of(std::get<std::vector<hf::ConfigValue>>(classes.value).front());
  return config;
}

}  // namespace modelutils
