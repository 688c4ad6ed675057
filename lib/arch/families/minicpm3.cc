// MiniCPM3: latent attention that caches the computed keys and values; MiniCPM's scales are hard-coded in llama.cpp.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::minicpm3 {

constexpr auto sizes = [] {
  auto keys = decoder_sizes();
  // Every head has its own keys and values, whatever config.json states.
  named(keys, "attention.head_count_kv").fields = {};
  named(keys, "attention.key_length") = {.name = "attention.key_length",
                                         .symbol = "D",
                                         .missing = Missing::refuse,
                                         .need = Need::required,
                                         .derive = mla_head};
  named(keys, "attention.value_length") = {.name = "attention.value_length",
                                           .fields = "v_head_dim",
                                           .symbol = "Dv",
                                           .fallback = "E/H",
                                           .loader_default = "E/H"};
  return joined(keys, mla_ranks);
}();
constexpr auto rope = [] {
  auto keys = with_longrope(rope_keys);
  named(keys, "rope.dimension_count") = named(mla_rope_keys, "rope.dimension_count");
  return keys;
}();

constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q_a", "E,Rq", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "Rq", "self_attn.q_a_layernorm"},
    {"attn_q_b", "Rq,H*D", "self_attn.q_b_proj"},
    {"attn_kv_a_mqa", "E,Rk+R", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "Rk", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "Rk,H*(D-R+Dv)", "self_attn.kv_b_proj"},
    {"attn_output", "H*Dv,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"},
    {"scale_emb", "12", Severity::error, "llama.cpp multiplies the embedding by 12"},
    {"scale_depth", "1.4", Severity::error, "llama.cpp multiplies the output of each layer by 1.4 / sqrt(layers)"},
    {"dim_model_base", "256", Severity::error, "llama.cpp multiplies the logits by 256 / hidden_size"},
};
constexpr Relation relations[] = {
    {"Dv*H", "E", "v_head_dim", "times the number of heads is not hidden_size, but llama.cpp assumes it is"},
    {"K", "H", {}, "every head has its own keys and values"},
};
// mlx-lm always rotates by the long factors; llama.cpp uses the short ones up to the original context.
static Status check_factors(KeyWriter& out) {
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (out.is_mlx() && scaling && scaling->short_factor != scaling->long_factor) {
    out.warn("rope_scaling",
             "has short factors that are not the long ones; llama.cpp uses them up to the original context, "
             "mlx-lm never");
  }
  return {};
}

constexpr Family minicpm3 = {
    .name = "minicpm3",
    .gguf = "minicpm3",
    .classes = "MiniCPM3ForCausalLM",
    .model_types = "minicpm3",
    .about = "low-rank queries, keys and values; scales of embedding, depth and logits are hard-coded in llama.cpp",
    .hf_rope_theta = 10000,
    .mlx_rope_theta = 1e6,
    .keys = {sizes, rope},
    .layer_tensors = {layer, gated_feed_forward},
    .first_tensors = embedding_and_longrope,
    .fixed = fixed,
    .relations = relations,
    .checks = {check_factors},
    .config = {.members = {{"num_key_value_heads", "=H"}, {"qk_nope_head_dim", "=D-R"}}},
};
MU_FAMILY(minicpm3);

}  // namespace modelutils::arch::families::minicpm3
