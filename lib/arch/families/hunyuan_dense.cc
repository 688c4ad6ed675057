// Hunyuan, dense: norms of queries and keys after the rotation, the rope base stretched by alpha.
#include <cmath>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/rope.h"

namespace modelutils::arch {

namespace {

constexpr auto sizes = decoder_sizes({.context = "32768", .epsilon = "1e-5"});

std::optional<double> alpha_of(const hf::Config& config) {
  for (const std::string_view name : {"rope_parameters", "rope_scaling"}) {
    const auto object = config.field(name);
    if (!object || !object->is_object()) continue;
    if (const auto alpha = json::number_member(*object, "alpha")) return alpha;
  }
  return std::nullopt;
}
// theta × alpha^(D / (D - 2)), at any length.
Status write_theta_by_alpha(KeyWriter& out, const Key& key) {
  const std::optional<double> alpha = alpha_of(out.config());
  const double head = static_cast<double>(out.size("D"));
  if (!alpha || head <= 2) return write_theta(out, key);
  return out.real(key.name, rope_theta(out.family(), out.config(), out.is_mlx()) * std::pow(*alpha, head / (head - 2)));
}
// Which uses up "dynamic" scaling.
Status write_other_scaling(KeyWriter& out, const Key& key) {
  return alpha_of(out.config()) ? Status{} : write_rope_scaling(out, key);
}
constexpr auto rope = [] {
  auto keys = rope_keys;
  keys[1].write = write_theta_by_alpha;
  keys[3].write = write_other_scaling;
  return keys;
}();
constexpr Tensor norms[] = {
    {"attn_q_norm", "D", "self_attn.query_layernorm"},
    {"attn_k_norm", "D", "self_attn.key_layernorm"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_qk_norm", "true", Severity::error, "the runtime normalises queries and keys"},
    {"attention_bias", "false", Severity::error, "the loader takes no biases"},
    {"use_cla", "false", Severity::error, "the runtime has keys and values in every layer"},
};

}  // namespace

const Family hunyuan_dense = {
    .name = "hunyuan-dense",
    .gguf = "hunyuan-dense",
    .classes = "HunYuanDenseV1ForCausalLM",
    .model_types = "hunyuan_v1_dense",
    .about = "norms of queries and keys after the rotation, the rope base stretched by alpha",
    .tied_by_default = true,
    .keys = {sizes, rope},
    .layer_tensors = {attention, norms, attention_output, gated_feed_forward},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
};

}  // namespace modelutils::arch
