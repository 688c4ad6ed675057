// Qwen3 and Qwen3-MoE: norms on queries and keys, no biases; experts without a shared one.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::qwen3 {

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr auto mixture_sizes = decoder_sizes({.context = "32768", .width = "Fx*U"});
constexpr Key mixture[] = {expert_width};
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"use_sliding_window", "false"},
};

constexpr Family qwen3 = {
    .name = "qwen3",
    .gguf = "qwen3",
    .classes = "Qwen3ForCausalLM",
    .model_types = "qwen3",
    .mlx_rope_theta = 1e6,
    .applies_weight_scales = true,
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention, qk_norms, attention_output, gated_feed_forward},
    .fixed = {rotates_halves},
    .checks = {warn_of_windows},
    .config = {.members = members},
    .engine = {.rope_layout = "split", .has_qk_norms = true},
    .tokenizer = {.pre_of_merges = "qwen3=qwen2", .composes = true},
};
MU_FAMILY(qwen3);

constexpr Family qwen3moe = {
    .name = "qwen3moe",
    .gguf = "qwen3moe",
    .classes = "Qwen3MoeForCausalLM",
    .model_types = "qwen3_moe",
    .layers_may_differ = true,
    .mlx_rope_theta = 1e6,
    .mlx_scales_rope = false,
    .applies_weight_scales = true,
    .keys = {mixture_sizes, rope_keys, expert_keys, mixture},
    .layer_tensors = {attention, qk_norms, attention_output, qwen_experts},
    .renormalises_experts = true,
    .fixed = {rotates_halves, experts_in_each, experts_in_all, normalises_weights},
    .checks = {warn_of_windows},
    .config = {.fields = "num_experts", .members = members},
    .tokenizer = {.pre_of_merges = "qwen3_moe=qwen2", .composes = true},
};
MU_FAMILY(qwen3moe);

}  // namespace modelutils::arch::families::qwen3
