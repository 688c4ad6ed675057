#include "rules/bump/bump5_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "json/canonical.h"

namespace modelutils {

namespace {

using bump5::Header;
using json::Element;

constexpr std::string_view file_name = "config.json";

constexpr std::array<Bump5Number, 9> numbers = {{
    {"num_hidden_layers", &Header::num_layers},
    {"hidden_size", &Header::embed_dim},
    {"intermediate_size", &Header::intermediate},
    {"num_attention_heads", &Header::num_heads},
    {"num_key_value_heads", &Header::num_kv_heads},
    {"vocab_size", &Header::vocab_size},
    {"max_position_embeddings", &Header::context_len},
    {"num_merges", &Header::num_merges},
    {"total_vocab_bytes", &Header::vocab_bytes},
}};
constexpr std::array<Bump5Number, 1> optional_numbers = {{{"head_dim", &Header::head_dim}}};

// A field of config.json that the manifest's config also has, perhaps under another name.
struct Twin {
  std::string_view key, in_manifest;
};
constexpr Twin twins[] = {
    {"model_type", "model"},
    {"rms_norm_eps", "rms_eps"},
    {"rope_theta", "rope_theta"},
    {"attn_out_dim", "attn_out_dim"},
    {"tie_word_embeddings", "tie_word_embeddings"},
    {"sliding_window", "sliding_window"},
    {"rope_layout", "rope_layout"},
    {"chat_template", "chat_template"},
    {"finetune", "finetune"},
    {"model_name", "model_name"},
    {"tokenizer_contract", "tokenizer_contract"},
};

class ConfigRules {
 public:
  ConfigRules(Element config, const bump5::Document& document, FindingLog& log)
      : config_(config), document_(document), log_(log) {}

  void check(const Bump5Companions& companions, bool untied) {
    compare_bump5_numbers(config_, numbers, document_.header, "bump-config", what, file_name, log_);
    compare_bump5_numbers(config_, optional_numbers, document_.header, "bump-config", what, file_name, log_);
    const auto tied = json::bool_member(config_, "tie_word_embeddings");
    if (tied && *tied == untied) {
      error(fmt::format("is {}, but the weights have {} output.weight", *tied, untied ? "an" : "no"),
            "tie_word_embeddings");
    }
    if (document_.version != 5 || !is_the_engines()) return;
    for (const Bump5Number& number : numbers) {
      if (!json::member(config_, number.key)) error("is missing", number.key);
    }
    const auto classes = json::member(config_, "architectures");
    if (!classes || json::canonical_text(*classes) != R"(["LlamaForCausalLM"])") {
      error("is not LlamaForCausalLM alone, as for every model of C-Kernel-Engine", "architectures");
    }
    if (!companions.manifest) return;
    const auto manifest = json::member(companions.manifest->root, "config");
    if (manifest) compare_twins(*manifest);
  }

 private:
  static constexpr std::string_view what = "config.json field";

  void error(std::string message, std::string_view key) {
    log_.error(Scope::model, "bump-config", std::move(message), fmt::format("{} {}", what, key), {}, file_name);
  }

  // True if config.json belongs to the engine. Beside the safetensors of an MLX model it is that model's own and has
  // none of these fields.
  bool is_the_engines() const {
    constexpr std::array<std::string_view, 4> own = {"attn_out_dim", "num_merges", "total_vocab_bytes", "rope_layout"};
    return std::ranges::count_if(own, [&](std::string_view key) { return json::member(config_, key).has_value(); }) > 1;
  }

  void compare_twins(Element manifest) {
    for (const Twin& twin : twins) {
      const auto own = json::member(config_, twin.key);
      const auto other = json::member(manifest, twin.in_manifest);
      if (!other || other->is_null()) continue;
      if (!own) {
        error("is missing, but the manifest's config has it", twin.key);
        continue;
      }
      const auto number = json::number_member(config_, twin.key);
      const bool is_equal = number ? number == json::number_member(manifest, twin.in_manifest)
                                   : json::canonical_text(*own) == json::canonical_text(*other);
      if (!is_equal) error(fmt::format("is not what the manifest's config says of {}", twin.in_manifest), twin.key);
    }
  }

  Element config_;
  const bump5::Document& document_;
  FindingLog& log_;
};

}  // namespace

void compare_bump5_numbers(Element object, std::span<const Bump5Number> shared, const Header& header,
                           std::string_view code, std::string_view what, std::string_view file, FindingLog& log) {
  for (const Bump5Number& number : shared) {
    const std::optional<Element> member = json::member(object, number.key);
    if (!member) continue;
    const std::optional<u64> value = json::u64_member(object, number.key);
    if (value == header.*number.value) continue;
    log.error(Scope::model, code,
              fmt::format("is {}, but the header says {}", value ? std::to_string(*value) : member->text(),
                          header.*number.value),
              fmt::format("{} {}", what, number.key), {}, file);
  }
}

void check_bump5_config(const ModelFolder& folder, const bump5::Document& document, const Bump5Companions& companions,
                        bool untied, FindingLog& log) {
  const auto loaded = json::load_if_present(folder, file_name, u64{16} << 20, json::Numbers::python);
  if (!loaded) return log.add(without_path(loaded.error(), Scope::model, file_name));
  if (*loaded == nullptr) {
    log.note(Scope::model, "bump-no-config",
             "there is no config.json next to the file: C-Kernel-Engine then lacks gemma3's sliding window");
    return;
  }
  const Element root = (*loaded)->root;
  if (!root.is_object()) {
    log.error(Scope::model, "hf-config-not-object", "is not a JSON object", {}, {}, file_name);
    return;
  }
  ConfigRules(root, document, log).check(companions, untied);
}

}  // namespace modelutils
