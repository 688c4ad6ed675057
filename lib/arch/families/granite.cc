// Granite 3: a llama with four multipliers; the mixture may have a shared expert.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::granite {

namespace {

constexpr auto sizes = decoder_sizes({.epsilon = "1e-6"});
constexpr Key multipliers[] = {
    {.name = "attention.scale",
     .type = KeyType::f32,
     .fields = "attention_multiplier",
     .fallback = "1",
     .missing = Missing::assume},
    {.name = "embedding_scale", .type = KeyType::f32, .fields = "embedding_multiplier"},
    {.name = "residual_scale", .type = KeyType::f32, .fields = "residual_multiplier"},
    {.name = "logit_scale",
     .type = KeyType::f32,
     .fields = "logits_scaling",
     .fallback = "1",
     .missing = Missing::assume,
     .need = Need::required},
};
constexpr Key shared[] = {
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_intermediate_size",
     .symbol = "Fs",
     .when = "Fs",
     .loader_default = "0"},
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.router.layer", .f32 = true},
    {"ffn_gate_exps", "E,F,X",
     "block_sparse_moe.switch_mlp.gate_proj | block_sparse_moe.input_linear{X t:2 F -> X t=0 F}"},
    {"ffn_up_exps", "E,F,X", "block_sparse_moe.switch_mlp.up_proj | block_sparse_moe.input_linear{X t:2 F -> X t=1 F}"},
    {"ffn_down_exps", "F,E,X", "block_sparse_moe.switch_mlp.down_proj | block_sparse_moe.output_linear"},
    {"ffn_gate_shexp", "E,Fs", "shared_mlp.gate_proj | shared_mlp.input_linear{t:2 Fs -> t=0 Fs}", Need::required,
     Need::absent, "Fs"},
    {"ffn_up_shexp", "E,Fs", "shared_mlp.up_proj | shared_mlp.input_linear{t:2 Fs -> t=1 Fs}", Need::required,
     Need::absent, "Fs"},
    {"ffn_down_shexp", "Fs,E", "shared_mlp.down_proj | shared_mlp.output_linear", Need::required, Need::absent, "Fs"},
};
constexpr Fixed fixed[] = {
    {"partial_rotary_factor", "1", Severity::error, "llama.cpp rotates the whole head"},
};

}  // namespace

const Family granite = {
    .name = "granite",
    .gguf = "granite",
    .classes = "GraniteForCausalLM",
    .model_types = "granite",
    .about = "multipliers of embedding, attention, residual and logits",
    .tied_by_default = true,
    .keys = {sizes, rope_keys, multipliers},
    .layer_tensors = {attention_of_pairs, gated_feed_forward_with_biases},
    .first_tensors = embedding_and_rope,
    .last_tensors = norm_and_head,
    .fixed = fixed,
};

const Family granitemoe = {
    .name = "granitemoe",
    .gguf = "granitemoe",
    .classes = "GraniteMoeForCausalLM|GraniteMoeSharedForCausalLM",
    .model_types = "granitemoe|granitemoeshared",
    .about = "granite's multipliers and experts, with or without a shared one",
    .tied_by_default = true,
    .keys = {sizes, rope_keys, expert_keys, multipliers, shared},
    .layer_tensors = {attention_of_pairs, experts},
    .first_tensors = embedding_and_rope,
    .last_tensors = norm_and_head,
    .fixed = fixed,
};

}  // namespace modelutils::arch::families::granite
