// OLMoE: experts in every layer, norms of queries and keys over all heads.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::olmoe {

namespace {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "4096", .epsilon = "1e-5"});
  keys[3].symbol = "Fx";  // intermediate_size is the width of an expert
  return keys;
}();
constexpr Tensor qk_norms_of_all_heads[] = {
    {"attn_q_norm", "H*D", "self_attn.q_norm"},
    {"attn_k_norm", "K*D", "self_attn.k_norm"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"partial_rotary_factor", "1", Severity::error, "llama.cpp rotates the whole head"},
    {"norm_topk_prob", "false", Severity::warning, "llama.cpp computes as if it were false"},
    {"clip_qkv", "", Severity::warning, "llama.cpp does not clip queries, keys and values"},
};
constexpr Relation relations[] = {
    whole_width,
    {"K", "H", "num_key_value_heads",
     "differs from the number of heads, and llama.cpp takes the norm of keys for as "
     "wide as that of queries"},
};
constexpr Member members[] = {
    {"attention_bias", "false"},
};

}  // namespace

const Family olmoe = {
    .name = "olmoe",
    .gguf = "olmoe",
    .classes = "OlmoeForCausalLM",
    .model_types = "olmoe",
    .about = "experts without a shared one, QK norm over all heads",
    .head = OutputHead::always,
    .keys = {sizes, rope_keys, expert_keys},
    .layer_tensors = {attention, qk_norms_of_all_heads, attention_output, qwen_experts},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .relations = relations,
    .config = {.fields = "num_experts", .members = members},
};

}  // namespace modelutils::arch::families::olmoe
