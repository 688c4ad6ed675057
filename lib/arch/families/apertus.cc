// Apertus: xIELU, whose per-layer parameters are GGUF keys; QK norm, no gate.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::apertus {

constexpr auto sizes = decoder_sizes({.context = "65536", .epsilon = "1e-5"});
constexpr Tensor layer[] = {
    {"attn_norm", "E", "attention_layernorm"},
    named(attention, "attn_q"),
    named(attention, "attn_k"),
    named(attention, "attn_v"),
    named(attention_output, "attn_output"),
    named(qk_norms, "attn_q_norm"),
    named(qk_norms, "attn_k_norm"),
    {"ffn_norm", "E", "feedforward_layernorm"},
    {"ffn_up", "E,F", "mlp.up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
    {.name = "@#xielu.alpha_n", .ne = "1", .source = "mlp.act_fn.alpha_n", .stored = "[hf] 1"},
    {.name = "@#xielu.alpha_p", .ne = "1", .source = "mlp.act_fn.alpha_p", .stored = "[hf] 1"},
    {"@#xielu.beta", "1", "mlp.act_fn.beta"},
    {"@#xielu.eps", "1", "mlp.act_fn.eps"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    rotates_whole_head,
    {"qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"},
    {"post_norm", "false", Severity::error, "llama.cpp has its norms before the blocks"},
    {"mlp_bias", "false", Severity::error, "llama.cpp accepts no biases of the feed-forward part"},
};

constexpr Family apertus = {
    .name = "apertus",
    .gguf = "apertus",
    .classes = "ApertusForCausalLM",
    .model_types = "apertus",
    .about = "xIELU with four numbers a layer, QK norm, no gate",
    .activation = "xielu",
    .activation_names = "xielu",
    .head = OutputHead::always,
    .hf_rope_theta = 12000000,
    .mlx_rope_theta = 10000,
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer},
    .first_tensors = embedding_and_rope,
    .fixed = fixed,
    .config = {.members = {{"attention_bias", "false"}}},
};
MU_FAMILY(apertus);

}  // namespace modelutils::arch::families::apertus
