// Phi-3.5-MoE: LayerNorm with biases, biases everywhere, longrope, sparsemixer router.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::phimoe {

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-6"});
constexpr auto rope = with_longrope(rope_keys);
constexpr Key window[] = {sliding_window("0", Missing::assume)};
constexpr Tensor last[] = {
    {"output_norm", "E", "model.norm", Need::required, Need::required},
    {"output", "E,V", "lm_head", Need::required, Need::required},
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate", .f32 = true},
    {"ffn_gate_exps", "E,F,X", "block_sparse_moe.experts.#.w1"},
    {"ffn_up_exps", "E,F,X", "block_sparse_moe.experts.#.w3"},
    {"ffn_down_exps", "F,E,X", "block_sparse_moe.experts.#.w2"},
};
static Status warn_of_differences(KeyWriter& out) {
  out.warn("architectures", "has LayerNorm, but llama.cpp does not subtract the mean: logits differ a little");
  const std::optional<hf::RopeScaling>& scaling = out.config().rope.scaling;
  if (out.is_mlx() && scaling && scaling->long_factor != scaling->short_factor) {
    out.warn("rope_scaling",
             "has two sets of factors: llama.cpp uses the short ones up to the original context, mlx-lm always the "
             "long ones");
  }
  return {};
}
static Status describe(ConfigWriter& out) {
  if (out.count("attention.sliding_window").value_or(0) == 0) out.set("sliding_window", nullptr);
  if (!out.has("rope_scaling.long_factor")) return {};
  out.assume("rope_scaling.long_mscale", 1.0);
  out.assume("rope_scaling.short_mscale", 1.0);
  return {};
}

constexpr Family phimoe = {
    .name = "phimoe",
    .gguf = "phimoe",
    .classes = "PhiMoEForCausalLM|PhimoeForCausalLM",
    .model_types = "phimoe",
    .about = "LayerNorm with biases, biases everywhere, longrope",
    .renames = mixtral_renames,
    .head = OutputHead::always,
    .class_has_defaults = true,
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope, expert_keys, window},
    .layer_tensors = {attention_and_norms_with_biases, experts},
    .first_tensors = embedding_and_longrope,
    .last_tensors = last,
    .renormalises_experts = true,
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .checks = {warn_of_differences},
    .config = {.members = {{"attention_bias", "true"}, {"lm_head_bias", "true"}}, .describe = describe},
};
MU_FAMILY(phimoe);

}  // namespace modelutils::arch::families::phimoe
