// dots.llm1: norms of queries and keys, shared experts, a sigmoid router with a selection bias.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::dots1 {

constexpr auto sizes = decoder_sizes();
// Scores are always sigmoids. In some configs scoring_func names the selection method instead.
constexpr Key mixture[] = {
    expert_width,
    shared_expert_count,
    leading_dense,
    {.name = "expert_gating_func", .fallback = "2", .missing = Missing::assume, .when = "X"},
};
constexpr auto experts = plainly_named_experts(expert_layers);
// llama.cpp expects keys and values for all heads.
static Status check_heads(KeyWriter& out) {
  if (out.size("K") == out.size("H")) return {};
  return out.refuse("num_key_value_heads",
                    fmt::format("is {}; llama.cpp assumes one per head ({})", out.size("K"), out.size("H")));
}
constexpr Member members[] = {
    {"attention_bias", "false"}, {"scoring_func", "noaux_tc"}, {"topk_method", "noaux_tc"},
    {"moe_layer_freq", "1"},     {"norm_topk_prob", "true"},   {"routed_scaling_factor", "1"},
};

constexpr Family dots1 = {
    .name = "dots1",
    .gguf = "dots1",
    .classes = "Dots1ForCausalLM",
    .model_types = "dots1",
    .about = "norms of queries and keys, shared experts, sigmoid router with a selection bias",
    .head = OutputHead::always,
    .loader_needs = "expert_feed_forward_length|expert_gating_func",
    .loads_without = "@exp_probs_b.bias",
    .keys = {sizes, rope_keys, expert_keys, mixture, expert_weights, expert_groups},
    .layer_tensors = {attention, qk_norms, attention_output, leading_feed_forward, experts, expert_choice_bias,
                      deepseek_shared_experts},
    .fixed = {rotates_halves},
    .checks = {check_heads, warn_of_windows},
    .config = {.fields = "n_routed_experts", .members = members},
};
MU_FAMILY(dots1);

}  // namespace modelutils::arch::families::dots1
