// ERNIE 4.5 with experts after the dense layers: rotates adjacent pairs in every format, softmax router with a
// selection bias.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::ernie4_5_moe {

constexpr std::string_view with_shared = "Fs & X & i>=Ld";
constexpr auto sizes = decoder_sizes({.context = "131072"});
constexpr Key mixture[] = {
    expert_width,
    {.name = "expert_shared_count", .fields = "moe_num_shared_experts", .when = "X"},
    {.name = "expert_shared_feed_forward_length", .symbol = "Fs", .fallback = "0", .when = "X", .loader_default = "0"},
    leading_dense,
    {.name = "interleave_moe_layer_step",
     .fields = "moe_layer_interval",
     .fallback = "1",
     .missing = Missing::assume,
     .need = Need::required,
     .when = "X"},
};
constexpr auto choice = choice_bias("mlp.moe_statics.e_score_correction_bias", Need::optional);
constexpr Tensor shared_experts[] = {
    {.name = "ffn_gate_shexp", .ne = "E,Fs", .source = "mlp.shared_experts.gate_proj", .when = with_shared},
    {.name = "ffn_up_shexp", .ne = "E,Fs", .source = "mlp.shared_experts.up_proj", .when = with_shared},
    {.name = "ffn_down_shexp", .ne = "Fs,E", .source = "mlp.shared_experts.down_proj", .when = with_shared},
};
constexpr Fixed fixed[] = {
    {"moe_gate_act", "softmax", Severity::error, "llama.cpp supports no other value for this architecture"},
    {"moe_layer_interval", "1", Severity::error, "llama.cpp requires experts in every layer after the dense ones"},
};
static Status check_last_layer(KeyWriter& out) {
  const auto end = out.config().u64_field("moe_layer_end_index");
  if (!end || *end + 1 >= out.size(symbol::layers)) return {};
  return out.refuse("moe_layer_end_index",
                    "is not the last layer; llama.cpp has no dense layers after those with experts");
}
constexpr Member members[] = {
    {"moe_layer_end_index", "=L-1"},
    {"use_bias", "@attn_q.bias"},
    {"moe_use_aux_free", "@exp_probs_b.bias"},
};

constexpr Family ernie4_5_moe = {
    .name = "ernie4_5-moe",
    .gguf = "ernie4_5-moe",
    .classes = "Ernie4_5_MoeForCausalLM",
    .model_types = "ernie4_5_moe",
    .about = "dense layers first, then experts with a shared one; adjacent pairs are rotated",
    .hf_rope_theta = 500000,
    .loader_needs = "expert_feed_forward_length",
    .loads_without = "ffn_gate_exps",
    .keys = {sizes, rope_keys, expert_keys, mixture},
    .layer_tensors = {attention_maybe_with_biases, attention_output, leading_feed_forward, experts_behind_dense, choice,
                      shared_experts},
    .renormalises_experts = true,
    .fixed = fixed,
    .checks = {check_last_layer},
    .config = {.fields = "moe_num_experts|moe_k|moe_num_shared_experts|moe_layer_start_index", .members = members},
};
MU_FAMILY(ernie4_5_moe);

}  // namespace modelutils::arch::families::ernie4_5_moe
