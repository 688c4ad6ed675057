// Orion: LayerNorm with bias, whose epsilon config.json calls rms_norm_eps.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::orion {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "4096", .layer_norm = true});
  named(keys, "attention.layer_norm_epsilon").fields = "rms_norm_eps";
  return keys;
}();
constexpr Need must = Need::required;
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", must, must}, {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},           {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},      {"ffn_norm", "E", "post_attention_layernorm", must, must},
};

constexpr Family orion = {
    .name = "orion",
    .gguf = "orion",
    .classes = "OrionForCausalLM",
    .model_types = "orion",
    .about = "LayerNorm with bias",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer, gated_feed_forward},
    .last_tensors = norm_with_bias_and_head,
    .fixed = {rotates_halves, {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"}},
    .relations = {whole_width},
    .config = {.fields = "max_position_embeddings", .members = {{"attention_bias", "false"}}},
};
MU_FAMILY(orion);

}  // namespace modelutils::arch::families::orion
