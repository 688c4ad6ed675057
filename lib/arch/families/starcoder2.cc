// StarCoder 2: LayerNorm, biases everywhere, no gate in the feed-forward part.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::starcoder2 {

namespace {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-5", .layer_norm = true});
constexpr Need must = Need::required;
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm", must, must},
    {"attn_q", "E,H*D", "self_attn.q_proj", must, must},
    {"attn_k", "E,K*D", "self_attn.k_proj", must, must},
    {"attn_v", "E,K*D", "self_attn.v_proj", must, must},
    {"attn_output", "H*D,E", "self_attn.o_proj", must, must},
    {"ffn_norm", "E", "post_attention_layernorm", must, must},
    {"ffn_up", "E,F", "mlp.c_fc", must, must},
    {"ffn_down", "F,E", "mlp.c_proj", must, must},
};
constexpr Tensor ends[] = {
    {"output_norm", "E", "model.norm", must, must},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_bias", "true", Severity::error, "llama.cpp requires biases"},
    {"norm_type", "layer_norm", Severity::error, "llama.cpp has LayerNorm"},
    {"mlp_type", "default", Severity::error, "llama.cpp has no gate in the feed-forward part"},
};
constexpr Relation relations[] = {whole_width};
constexpr Check checks[] = {warn_of_windows};

}  // namespace

const Family starcoder2 = {
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
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = embedding,
    .last_tensors = ends,
    .fixed = fixed,
    .relations = relations,
    .checks = checks,
    .config = {.fields = "norm_epsilon"},
};

}  // namespace modelutils::arch::families::starcoder2
