// Phi-3.5-MoE: LayerNorm with biases, biases everywhere, longrope, sparsemixer router.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/rope.h"

namespace modelutils::arch::families::phimoe {

namespace {

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-6"});
constexpr auto rope = [] {
  auto keys = rope_keys;
  keys[3].read = read_phi3_rope_scaling;
  keys[3].write = write_phi3_rope_scaling;
  return keys;
}();
constexpr Key window[] = {
    {.name = "attention.sliding_window", .fields = "sliding_window", .fallback = "0", .missing = Missing::assume}};
constexpr Tensor first[] = {embedding_and_rope[0], embedding_and_rope[2], embedding_and_rope[3]};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", Need::required, Need::required},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::required},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::required},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::required},
    {"attn_output", "H*D,E", "self_attn.o_proj", Need::required, Need::required},
    {"ffn_norm", "E", "post_attention_layernorm", Need::required, Need::required},
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate", .f32 = true},
    {"ffn_gate_exps", "E,F,X", "block_sparse_moe.switch_mlp.gate_proj | block_sparse_moe.experts.#.w1"},
    {"ffn_up_exps", "E,F,X", "block_sparse_moe.switch_mlp.up_proj | block_sparse_moe.experts.#.w3"},
    {"ffn_down_exps", "F,E,X", "block_sparse_moe.switch_mlp.down_proj | block_sparse_moe.experts.#.w2"},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm", Need::required, Need::required},
    {"output", "E,V", "lm_head", Need::required, Need::required},
};
constexpr Fixed fixed[] = {rotates_halves};
constexpr Relation relations[] = {whole_width};
Status warn_of_differences(KeyWriter& out) {
  out.warn("architectures", "has LayerNorm, but llama.cpp does not subtract the mean: logits differ a little");
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (out.is_mlx() && scaling && scaling->long_factor != scaling->short_factor) {
    out.warn("rope_scaling",
             "has two sets of factors: llama.cpp takes the short ones up to the original context, "
             "mlx-lm always the long ones");
  }
  return {};
}
constexpr Check checks[] = {warn_of_differences};
Status describe(ConfigWriter& out) {
  if (out.count("attention.sliding_window").value_or(0) == 0) out.set("sliding_window", nullptr);
  if (!out.has("rope_scaling.long_factor")) return {};
  out.assume("rope_scaling.long_mscale", 1.0);
  out.assume("rope_scaling.short_mscale", 1.0);
  return {};
}
constexpr Member members[] = {
    {"attention_bias", "true"},
    {"lm_head_bias", "true"},
};

}  // namespace

const Family phimoe = {
    .name = "phimoe",
    .gguf = "phimoe",
    .classes = "PhiMoEForCausalLM|PhimoeForCausalLM",
    .model_types = "phimoe",
    .about = "LayerNorm with biases, biases everywhere, longrope",
    .head = OutputHead::always,
    .class_has_defaults = true,
    .keys = {sizes, rope, expert_keys, window},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .fixed = fixed,
    .relations = relations,
    .checks = checks,
    .config = {.members = members, .describe = describe},
};

}  // namespace modelutils::arch::families::phimoe
