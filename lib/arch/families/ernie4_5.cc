// ERNIE 4.5, dense: a llama that is stored with adjacent pairs.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::ernie4_5 {

namespace {

constexpr auto sizes = decoder_sizes({.context = "131072", .epsilon = "1e-5"});
constexpr Fixed fixed[] = {
    rotates_pairs,
    {"partial_rotary_factor", "1", Severity::error, "llama.cpp rotates the whole head"},
    {"use_bias", "false", Severity::error, "llama.cpp has no biases in this architecture"},
};

}  // namespace

const Family ernie4_5 = {
    .name = "ernie4_5",
    .gguf = "ernie4_5",
    .classes = "Ernie4_5ForCausalLM|Ernie4_5_ForCausalLM",
    .model_types = "ernie4_5",
    .about = "stored with the adjacent pairs that llama.cpp rotates",
    .tied_by_default = true,
    .hf_rope_theta = 500000,
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention, attention_output, gated_feed_forward},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
};

}  // namespace modelutils::arch::families::ernie4_5
