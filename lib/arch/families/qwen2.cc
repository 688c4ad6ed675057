// Qwen2 and Qwen2-MoE: biases on Q, K and V; the mixture has a shared expert with a gate of its own.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::qwen2 {

namespace {

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr Key mixture[] = {
    expert_width,
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_expert_intermediate_size",
     .symbol = "Fs",
     .when = "X",
     .loader_default = "F"},
};
constexpr auto mixture_sizes = [] {
  auto keys = decoder_sizes({.context = "32768"});
  keys[3].fallback = "Fx*U";  // the dense width, which no tensor of a mixture has
  return keys;
}();
constexpr Tensor shared_expert[] = {
    {.name = "ffn_gate_inp_shexp", .ne = "E", .source = "mlp.shared_expert_gate", .stored = "1,E"},
    {"ffn_gate_shexp", "E,Fs", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "E,Fs", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "Fs,E", "mlp.shared_expert.down_proj"},
};
constexpr Fixed fixed[] = {rotates_halves};
constexpr Fixed mixture_fixed[] = {
    experts_everywhere[0],
    experts_everywhere[1],
    experts_everywhere[2],
    {"norm_topk_prob", "false", Severity::warning, "llama.cpp computes as if it were false"},
};
constexpr Relation relations[] = {whole_width};
constexpr Check checks[] = {warn_of_windows};
constexpr Member members[] = {
    {"use_sliding_window", "false"},
};
constexpr Member mimo_members[] = {
    {"attention_bias", "true"},
    {"num_nextn_predict_layers", "0"},
};

}  // namespace

const Family qwen2 = {
    .name = "qwen2",
    .gguf = "qwen2",
    .classes = "Qwen2ForCausalLM",
    .model_types = "qwen2",
    .mlx_rope_theta = 1e6,
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_with_biases, attention_output, gated_feed_forward},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .relations = relations,
    .checks = checks,
    .config = {.members = members},
    .engine = {.rope_layout = "split"},
};

// MiMo 7B: the same; layers that predict more than the next token are left out.
const Family mimo = {
    .name = "mimo",
    .gguf = "qwen2",
    .classes = "MiMoForCausalLM",
    .model_types = "mimo",
    .about = "a qwen2; multi-token prediction is left out",
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_with_biases, attention_output, gated_feed_forward},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .relations = relations,
    .checks = checks,
    .config = {.members = mimo_members},
};

const Family qwen2moe = {
    .name = "qwen2moe",
    .gguf = "qwen2moe",
    .classes = "Qwen2MoeForCausalLM",
    .model_types = "qwen2_moe",
    .head = OutputHead::always,
    .layers_may_differ = true,
    .mlx_rope_theta = 1e6,
    .keys = {mixture_sizes, rope_keys, expert_keys, mixture},
    .layer_tensors = {attention_with_biases, attention_output, qwen_experts, shared_expert},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = mixture_fixed,
    .relations = relations,
    .checks = checks,
    .config = {.fields = "num_experts", .members = members},
};

}  // namespace modelutils::arch::families::qwen2
