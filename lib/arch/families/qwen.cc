// Qwen 1: queries, keys and values in one matrix with a bias; intermediate_size counts gate and up together.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::qwen {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "8192", .epsilon = "1e-6"});
  named(keys, "attention.layer_norm_rms_epsilon").fields = "layer_norm_epsilon|rms_norm_eps";
  named(keys, "attention.key_length").fields = "kv_channels";
  return keys;
}();
constexpr Tensor first[] = {{"token_embd", "E,V", "transformer.wte"}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "ln_1"},
    {"attn_qkv", "E,3*H*D", "attn.c_attn", Need::required, Need::required},
    {"attn_output", "H*D,E", "attn.c_proj"},
    {"ffn_norm", "E", "ln_2"},
    {"ffn_gate", "E,F/2", "mlp.w2"},
    {"ffn_up", "E,F/2", "mlp.w1"},
    {"ffn_down", "F/2,E", "mlp.c_proj"},
};
constexpr Tensor ends[] = {
    {"output_norm", "E", "transformer.ln_f"},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    {"no_bias", "true", Severity::error, "llama.cpp accepts a bias only of queries, keys and values"},
    {"rotary_pct", "1", Severity::error, "llama.cpp rotates the whole head"},
    {"rotary_emb_base", "10000", Severity::warning, "mlx-lm computes as if it were 10000", "mlx"},
};

constexpr Family qwen = {
    .name = "qwen",
    .gguf = "qwen",
    .classes = "QWenLMHeadModel",
    .model_types = "qwen",
    .about = "queries, keys and values in one matrix with a bias; intermediate_size counts gate and up",
    .layer_prefixes = "transformer.h.",
    .head = OutputHead::always,
    .mlx_scales_rope = false,
    .loads_without = "attention.head_count",
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = ends,
    .fixed = fixed,
    .relations = {whole_width, {"K", "H", "num_key_value_heads", "queries, keys and values are thirds of one matrix"}},
    .config = {.fields = "rotary_emb_base"},
    .tokenizer = {.pre_of_ranks = "qwen=qwen2", .composes = true},
};
MU_FAMILY(qwen);

}  // namespace modelutils::arch::families::qwen
