// Qwen2-MoE: biases on Q, K and V, and a shared expert with its own gate.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::qwen2moe {

constexpr auto sizes = decoder_sizes({.context = "32768", .width = "Fx*U"});
constexpr Key mixture[] = {
    expert_width,
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_expert_intermediate_size",
     .symbol = "Fs",
     .when = "X",
     .loader_default = "F"},
};
constexpr Tensor shared_expert[] = {
    {.name = "ffn_gate_inp_shexp", .ne = "E", .source = "mlp.shared_expert_gate", .stored = "1,E"},
    {"ffn_gate_shexp", "E,Fs", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "E,Fs", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "Fs,E", "mlp.shared_expert.down_proj"},
};

constexpr Family qwen2moe = {
    .name = "qwen2moe",
    .gguf = "qwen2moe",
    .classes = "Qwen2MoeForCausalLM",
    .model_types = "qwen2_moe",
    .head = OutputHead::always,
    .layers_may_differ = true,
    .mlx_rope_theta = 1e6,
    .loads_without = "attn_q.bias|attn_k.bias|attn_v.bias",
    .keys = {sizes, rope_keys, expert_keys, mixture},
    .layer_tensors = {attention_with_biases, attention_output, qwen_experts, shared_expert},
    .fixed = {rotates_halves, experts_in_each, experts_in_all, leaves_weights},
    .relations = {whole_width},
    .checks = {warn_of_windows},
    .config = {.fields = "num_experts", .members = {{"use_sliding_window", "false"}}},
    .tokenizer = {.pre_of_merges = "qwen2_moe=qwen2", .composes = true},
};
MU_FAMILY(qwen2moe);

}  // namespace modelutils::arch::families::qwen2moe
