#include "model/bump_config.h"

#include <fmt/core.h>

#include <array>

#include "base/path.h"
#include "json/reader.h"

namespace modelutils {

namespace {

constexpr std::array<BumpConfigField, 8> fields = {{
    {"num_hidden_layers", &bump::Dimensions::layers},
    {"hidden_size", &bump::Dimensions::embed},
    {"intermediate_size", &bump::Dimensions::intermediate},
    {"num_attention_heads", &bump::Dimensions::heads},
    {"num_key_value_heads", &bump::Dimensions::kv_heads},
    {"vocab_size", &bump::Dimensions::vocab},
    {"max_position_embeddings", &bump::Dimensions::context},
    {"head_dim", &bump::Dimensions::head_dim},
}};

}  // namespace

std::span<const BumpConfigField> bump_config_fields() {
  return fields;
}

std::optional<BumpConfig> read_bump_config(const std::string& bump_path, FindingLog& log) {
  BumpConfig config;
  const auto document = json::load_if_present({folder_of(bump_path), OutsideLinks::warn}, "config.json", u64{16} << 20);
  if (!document) {
    log.add(without_path(document.error(), Scope::model, "config.json"));
    return config;
  }
  if (*document == nullptr) return std::nullopt;
  const json::Element root = (*document)->root;
  if (!root.is_object()) {
    log.error(Scope::model, "hf-config-not-object", "is not a JSON object", {}, {}, "config.json");
    return config;
  }
  for (const BumpConfigField& field : fields) {
    if (!json::member(root, field.key)) continue;
    const std::optional<u64> value = json::u64_member(root, field.key);
    if (value && *value != 0) {
      config.dimensions.*field.value = *value;
      continue;
    }
    log.error(Scope::model, "bump-config", "is not a whole number greater than 0", fmt::format("field {}", field.key),
              {}, "config.json");
  }
  bump::Dimensions& d = config.dimensions;
  if (!json::member(root, "num_key_value_heads")) d.kv_heads = d.heads;  // Hugging Face's default
  config.has_rope_scaling = json::member(root, "rope_scaling").has_value();
  return config;
}

}  // namespace modelutils
