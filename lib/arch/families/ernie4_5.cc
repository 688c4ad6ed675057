// ERNIE 4.5, dense: a llama that directories also store with adjacent pairs.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::ernie4_5 {

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-5"});
constexpr Fixed fixed[] = {
    rotates_pairs,
    rotates_whole_head,
    {"use_bias", "false", Severity::error, "llama.cpp has no biases in this architecture"},
};

constexpr Family ernie4_5 = {
    .name = "ernie4_5",
    .gguf = "ernie4_5",
    .classes = "Ernie4_5ForCausalLM|Ernie4_5_ForCausalLM",
    .model_types = "ernie4_5",
    .about = "stored with the adjacent pairs that llama.cpp rotates",
    .tied_by_default = true,
    .hf_rope_theta = 500000,
    .mlx_rope_theta = 10000,
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention, attention_output, gated_feed_forward},
    .fixed = fixed,
};
MU_FAMILY(ernie4_5);

}  // namespace modelutils::arch::families::ernie4_5
