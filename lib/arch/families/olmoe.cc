// OLMoE: experts in every layer, norms of queries and keys over all heads.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::olmoe {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "4096", .epsilon = "1e-5"});
  named(keys, "feed_forward_length").symbol = "Fx";  // intermediate_size is an expert's width
  return keys;
}();
constexpr Fixed fixed[] = {
    rotates_halves,
    rotates_whole_head,
    leaves_weights,
    {"clip_qkv", "", Severity::warning, "llama.cpp does not clip queries, keys and values"},
};
constexpr Relation relations[] = {
    whole_width,
    {"K", "H", "num_key_value_heads",
     "differs from the number of heads, but llama.cpp assumes that the norm of keys is as wide as that of queries"},
};

constexpr Family olmoe = {
    .name = "olmoe",
    .gguf = "olmoe",
    .classes = "OlmoeForCausalLM",
    .model_types = "olmoe",
    .about = "experts without a shared one, QK norm over all heads",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys, expert_keys},
    .layer_tensors = {attention, qk_norms_over_all_heads, attention_output, qwen_experts},
    .fixed = fixed,
    .relations = relations,
    .config = {.fields = "num_experts", .members = {{"attention_bias", "false"}}},
};
MU_FAMILY(olmoe);

}  // namespace modelutils::arch::families::olmoe
