// Ministral 3: a llama with yarn whose queries are scaled by the logarithm of the position.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::ministral3 {

constexpr auto sizes = decoder_sizes({.epsilon = "1e-5"});

static std::optional<double> rope_number(const hf::Config& config, std::string_view name) {
  for (const std::string_view object : {"rope_parameters", "rope_scaling"}) {
    const auto found = config.field(object);
    if (found && found->is_object()) return json::number_member(*found, name);
  }
  return std::nullopt;
}
// Writes beta: queries are scaled by 1 + beta ln(1 + position / original context).
static Status write_temperature(KeyWriter& out, const Key& key) {
  const std::optional<double> beta = rope_number(out.config(), "llama_4_scaling_beta");
  if (!beta || *beta == 0) return {};
  if (!out.config().rope.scaling) {
    const auto original = rope_number(out.config(), "original_max_position_embeddings");
    if (!original) return out.refuse("rope_parameters.original_max_position_embeddings", "is missing");
    MU_TRY(out.count("rope.scaling.original_context_length", static_cast<u64>(*original)));
  }
  return out.real(key.name, *beta);
}
constexpr auto rope = [] {
  auto keys = rope_keys;
  named(keys, "rope.scaling.type").write = write_rope_scaling_with_log_multiplier;
  named(keys, "rope.scaling.yarn_beta_fast").loader_default = "32";
  named(keys, "rope.scaling.yarn_beta_slow").loader_default = "1";
  return keys;
}();
constexpr Key own[] = {
    yarn_log_multiplier,
    {.name = "attention.temperature_scale", .type = KeyType::f32, .write = write_temperature},
};
static Status describe(ConfigWriter& out) {
  if (!out.has("rope_scaling.rope_type")) out.set("rope_scaling.rope_type", "default");
  out.set("rope_scaling.llama_4_scaling_beta", out.real("attention.temperature_scale").value_or(0));
  if (const auto original = out.count("rope.scaling.original_context_length")) {
    out.set("rope_scaling.original_max_position_embeddings", *original);
  } else {
    out.assume("rope_scaling.original_max_position_embeddings", out.count("context_length").value_or(0));
  }
  gather_rope_parameters(out);
  return {};
}

constexpr Family ministral3 = {
    .name = "ministral3",
    .gguf = "mistral3",
    .classes = "Ministral3ForCausalLM",
    .model_types = "ministral3",
    .about = "yarn with a temperature that grows with the position",
    .applies_weight_scales = true,
    .keys = {sizes, rope, own},
    .layer_tensors = {attention_of_pairs, gated_feed_forward},
    .first_tensors = embedding_and_rope,
    .fixed = {rotates_whole_head},
    .checks = {warn_of_windows},
    .config = {.describe = describe},
};
MU_FAMILY(ministral3);

}  // namespace modelutils::arch::families::ministral3
