#include "formats/hf/sentence_modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/path.h"
#include "formats/hf/config_members.h"
#include "json/reader.h"

namespace modelutils::hf {

namespace {

constexpr std::string_view modules_name = "modules.json";
constexpr u64 most_modules = 64;

struct PoolingMode {
  std::string_view flag;  // old form: a flag for each mode
  std::string_view name;  // new form
  std::optional<Pooling> pooling;
};
constexpr PoolingMode pooling_modes[] = {
    {"pooling_mode_cls_token", "cls", Pooling::first},
    {"pooling_mode_mean_tokens", "mean", Pooling::mean},
    {"pooling_mode_lasttoken", "lasttoken", Pooling::last},
    {"pooling_mode_max_tokens", "max", {}},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", {}},
    {"pooling_mode_weightedmean_tokens", "weightedmean", {}},
};

class ModulesReader {
 public:
  ModulesReader(const ModelFolder& folder, FindingLog& findings) : folder_(folder), findings_(findings) {}

  SentenceModules read() {
    const auto document = json::load_if_present(folder_, modules_name);
    if (!document) {
      findings_.add(without_path(document.error(), Scope::model, modules_name));
      return std::move(modules_);
    }
    if (*document == nullptr) return std::move(modules_);
    modules_.is_stated = true;
    json::Array list;
    if (!(*document)->root.get(list) || list.size() > most_modules) {
      broken(fmt::format("is not a list of at most {} modules", most_modules), modules_name);
      return std::move(modules_);
    }
    for (const json::Element module : list) read_module(module);
    read_prompts();
    return std::move(modules_);
  }

 private:
  void broken(std::string message, std::string_view file, std::string where = {}) {
    findings_.error(Scope::model, "hf-sentence-modules", std::move(message), std::move(where), {}, std::string(file));
  }
  // Keeps the first reason.
  void refuse(std::string message, std::string_view file, std::string_view field = {}) {
    if (modules_.refusal) return;
    modules_.refusal = Error{.code = "convert-modules",
                             .message = std::move(message),
                             .where = std::string(field),
                             .file = folder_.file(file)};
  }

  void read_module(json::Element module) {
    const std::string type(json::string_member(module, "type").value_or(""));
    const std::string path(json::string_member(module, "path").value_or(""));
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind.empty()) return broken("has a module without a type", modules_name);
    if (kind == "Transformer" || kind == "Normalize") return;
    if (kind != "Pooling" && kind != "Dense") {
      return refuse(fmt::format("names a module '{}', which llama.cpp does not compute", type), modules_name, "type");
    }
    if (!stays_below(path) || path.find_first_of("\\:") != path.npos) {
      return broken(fmt::format("names the path '{}', which leaves the model's folder", path), modules_name, "path");
    }
    const std::string file = path + "/config.json";
    const auto config = json::load_if_present(folder_, file);
    if (!config) return findings_.add(without_path(config.error(), Scope::model, file));
    if (*config == nullptr || !(*config)->root.is_object()) {
      return broken(*config == nullptr ? fmt::format("is missing, but {} names '{}'", modules_name, path)
                                       : std::string("is not a JSON object"),
                    file);
    }
    if (kind == "Pooling") {
      read_pooling((*config)->root, file);
    } else {
      read_dense((*config)->root, path, file);
    }
  }

  void read_pooling(json::Element config, const std::string& file) {
    if (modules_.pooling) return refuse("is a second pooling module", file);
    std::vector<const PoolingMode*> chosen;
    const auto named = json::string_member(config, "pooling_mode");
    for (const PoolingMode& mode : pooling_modes) {
      const bool is_on = json::bool_member(config, mode.flag).value_or(false);
      if (named ? mode.name == *named : is_on) chosen.push_back(&mode);
    }
    if (chosen.empty()) {
      return named || json::member(config, "pooling_mode")
                 ? refuse(fmt::format("chooses the pooling '{}', which llama.cpp does not compute", named.value_or("")),
                          file, "pooling_mode")
                 : broken("chooses no pooling mode", file);
    }
    if (chosen.size() > 1) {
      return refuse(fmt::format("joins the vectors of two pooling modes, {} and {}; llama.cpp computes only one",
                                chosen[0]->flag, chosen[1]->flag),
                    file, "pooling_mode");
    }
    if (!chosen.front()->pooling) {
      return refuse(fmt::format("chooses the pooling '{}' ({}), which llama.cpp does not compute", chosen.front()->name,
                                chosen.front()->flag),
                    file, chosen.front()->flag);
    }
    modules_.pooling = chosen.front()->pooling;
  }

  // Without an entry for the activation, the class's default is tanh.
  void read_dense(json::Element config, const std::string& path, const std::string& file) {
    const bool has_bias = json::bool_member(config, "bias").value_or(true);
    const std::string activation(json::string_member(config, "activation_function").value_or("Tanh"));
    if (has_bias) return refuse("is a dense layer with a bias, which llama.cpp does not compute", file, "bias");
    if (activation.substr(activation.rfind('.') + 1) != "Identity") {
      return refuse(fmt::format("is a dense layer with the activation '{}'; llama.cpp computes none", activation), file,
                    "activation_function");
    }
    if (json::bool_member(config, "use_residual").value_or(false))
      return refuse("is a dense layer with a residual connection", file, "use_residual");
    modules_.dense.push_back(path);
  }

  void read_prompts() {
    constexpr std::string_view name = "config_sentence_transformers.json";
    const auto document = json::load_if_present(folder_, name);
    if (!document) return findings_.add(without_path(document.error(), Scope::model, name));
    if (*document == nullptr) return;
    const auto prompts = json::member((*document)->root, "prompts");
    json::Object members;
    if (!prompts || !prompts->get(members)) return;
    for (const auto& member : members) {
      std::string_view text;
      if (member.value.get(text) && !text.empty()) modules_.prompts.emplace_back(member.key);
    }
  }

  const ModelFolder& folder_;
  FindingLog& findings_;
  SentenceModules modules_;
};

}  // namespace

std::string_view pooling_text(u64 number) {
  constexpr std::string_view texts[] = {"none, a vector for each token", "mean", "first token", "last token", "rank"};
  return number < std::size(texts) ? texts[number] : std::string_view();
}

SentenceModules load_sentence_modules(const ModelFolder& folder, FindingLog& findings) {
  return ModulesReader(folder, findings).read();
}

namespace {

ConfigMembers module_entry(u64 number, std::string_view path, std::string_view type) {
  return {{"idx", number}, {"name", std::to_string(number)}, {"path", path}, {"type", type}};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sentence_module_files(const SentenceModules& modules,
                                                                       const std::vector<DenseSizes>& sizes,
                                                                       u64 width) {
  std::vector<std::pair<std::string, std::string>> files;
  if (!modules.pooling && modules.dense.empty()) return files;
  std::vector<ConfigMembers> list = {module_entry(0, "", "sentence_transformers.models.Transformer")};
  if (modules.pooling) {
    list.push_back(module_entry(list.size(), "1_Pooling", "sentence_transformers.models.Pooling"));
    ConfigMembers config = {{"word_embedding_dimension", width}};
    for (const PoolingMode& mode : pooling_modes)
      config.push_back({std::string(mode.flag), mode.pooling == modules.pooling});
    config.push_back({"include_prompt", true});
    files.emplace_back("1_Pooling/config.json", config_text(config));
  }
  for (std::size_t i = 0; i < modules.dense.size(); ++i) {
    // Without a pooling, every token keeps its vector: the form of pylate.
    list.push_back(module_entry(list.size(), modules.dense[i],
                                modules.pooling ? "sentence_transformers.models.Dense" : "pylate.models.Dense.Dense"));
    files.emplace_back(modules.dense[i] + "/config.json",
                       config_text({{"in_features", sizes[i].in},
                                    {"out_features", sizes[i].out},
                                    {"bias", false},
                                    {"activation_function", "torch.nn.modules.linear.Identity"}}));
  }
  std::string text = "[\n";
  for (const ConfigMembers& entry : list) {
    std::string object = config_text(entry);
    object.pop_back();  // the line feed
    text += object + (&entry == &list.back() ? "\n]\n" : ",\n");
  }
  files.emplace_back("modules.json", std::move(text));
  return files;
}

}  // namespace modelutils::hf
