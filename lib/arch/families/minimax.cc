// MiniMax M2: norms over all heads at once, partial rotation, sigmoid router with a selection bias.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::minimax {

constexpr auto sizes = decoder_sizes();
constexpr Key mixture[] = {
    {.name = "expert_feed_forward_length", .symbol = "F", .when = "X"},  // there is no dense part
    expert_gating("2"),
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "block_sparse_moe.gate", .f32 = true},
    {"@exp_probs_b.bias", "X", "block_sparse_moe.e_score_correction_bias"},
    {"ffn_gate_exps", "E,F,X", "block_sparse_moe.experts.#.w1"},
    {"ffn_up_exps", "E,F,X", "block_sparse_moe.experts.#.w3"},
    {"ffn_down_exps", "F,E,X", "block_sparse_moe.experts.#.w2"},
};
constexpr Member members[] = {
    {"shared_intermediate_size", "0"},
    {"use_routing_bias", "@exp_probs_b.bias"},
    {"qk_norm_type", "per_layer"},
};

constexpr Family minimax = {
    .name = "minimax-m2",
    .gguf = "minimax-m2",
    .classes = "MiniMaxM2ForCausalLM",
    .model_types = "minimax|minimax_m2",
    .about = "norms over all heads at once, a part of each head rotated, sigmoid router with a selection bias",
    .renames = mixtral_renames,
    .head = OutputHead::always,
    .hf_rope_theta = 5e6,
    .mlx_scales_rope = false,
    .loader_needs = "expert_feed_forward_length|feed_forward_length|expert_gating_func",
    .keys = {sizes, partial_rope_keys, expert_keys, mixture},
    .layer_tensors = {attention, qk_norms_over_all_heads, attention_output, experts},
    .renormalises_experts = true,
    .fixed = {rotates_halves, {"use_qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"}},
    .config = {.fields = "rotary_dim", .members = members},
};
MU_FAMILY(minimax);

}  // namespace modelutils::arch::families::minimax
