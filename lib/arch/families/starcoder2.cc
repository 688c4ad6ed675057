// StarCoder 2: LayerNorm, biases everywhere, no gate in the feed-forward part.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::starcoder2 {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-5", .layer_norm = true});
constexpr Tensor feed_forward[] = {
    {"ffn_up", "E,F", "mlp.c_fc", Need::required, Need::required},
    {"ffn_down", "F,E", "mlp.c_proj", Need::required, Need::required},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_bias", "true", Severity::error, "llama.cpp requires biases"},
    {"norm_type", "layer_norm", Severity::error, "llama.cpp has LayerNorm"},
    {"mlp_type", "default", Severity::error, "llama.cpp has no gate in the feed-forward part"},
};

constexpr Family starcoder2 = {
    .name = "starcoder2",
    .gguf = "starcoder2",
    .classes = "Starcoder2ForCausalLM",
    .model_types = "starcoder2",
    .about = "LayerNorm, biases everywhere, no gate",
    .activation = "gelu_pytorch_tanh",
    .activation_names = "gelu_pytorch_tanh|gelu|gelu_new|gelu_fast",
    .tied_by_default = true,
    .mlx_rope_theta = 100000,
    .mlx_scales_rope = false,
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_and_norms_with_biases, feed_forward},
    .last_tensors = norm_with_bias_and_head,
    .fixed = fixed,
    .relations = {whole_width},
    .checks = {warn_of_windows},
    .config = {.fields = "norm_epsilon"},
};
MU_FAMILY(starcoder2);

}  // namespace modelutils::arch::families::starcoder2
