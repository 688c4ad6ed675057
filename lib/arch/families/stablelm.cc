// StableLM 2: LayerNorm with bias, partial rotation. The 12B model has a norm per head and no second norm, because its
// feed-forward part runs parallel to attention.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::stablelm {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-5", .layer_norm = true});
constexpr auto rope = partial_rope_keys_of("D/4");  // the class's partial_rotary_factor
constexpr Key parallel[] = {
    {.name = "use_parallel_residual", .type = KeyType::flag, .fields = "use_parallel_residual"},
};
constexpr Need must = Need::required;
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", must, must},
    {"attn_q", "E,H*D", "self_attn.q_proj", must, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj", must, Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", must, Need::optional},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {.name = "attn_q_norm",
     .ne = "D,H",
     .source = "self_attn.q_layernorm.norms.#",
     .need = Need::optional,
     .f32 = true},
    {.name = "attn_k_norm",
     .ne = "D,K",
     .source = "self_attn.k_layernorm.norms.#",
     .need = Need::optional,
     .f32 = true},
    {"ffn_norm", "E", "post_attention_layernorm", Need::optional, Need::optional},
};
// Attention and the feed-forward part run in parallel if there is no norm between them.
static Status describe(ConfigWriter& out) {
  out.set("use_parallel_residual", !out.has_in_layers("ffn_norm.weight"));
  return {};
}
constexpr Member members[] = {
    {"use_qkv_bias", "@attn_q.bias"},
    {"qk_layernorm", "@attn_q_norm.weight"},
};

constexpr Family stablelm = {
    .name = "stablelm",
    .gguf = "stablelm",
    .classes = "StableLmForCausalLM|StableLMEpochForCausalLM|LlavaStableLMEpochForCausalLM",
    .model_types = "stablelm|stablelm_epoch",
    .about = "LayerNorm with bias, partial rotation; QK norm by head and parallel blocks in the 12B model",
    .head = OutputHead::always,
    .mlx_scales_rope = false,
    .keys = {sizes, rope, parallel},
    .layer_tensors = {layer, gated_feed_forward},
    .last_tensors = norm_with_bias_and_head,
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .config = {.members = members, .describe = describe},
    .tokenizer = {.pre = "stablelm2"},
};
MU_FAMILY(stablelm);

}  // namespace modelutils::arch::families::stablelm
