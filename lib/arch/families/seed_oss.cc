// Seed-OSS: a qwen2 with its own head size and another name for the second norm.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::seed_oss {

constexpr auto sizes = decoder_sizes({.context = "524288", .epsilon = "1e-6", .head_dim = "128"});
constexpr Fixed fixed[] = {
    rotates_halves,
    rotates_whole_head,
    {"attention_out_bias", "false", Severity::error, "llama.cpp accepts no bias of the output projection"},
    {"mlp_bias", "false", Severity::error, "llama.cpp accepts no biases of the feed-forward part"},
};

constexpr Family seed_oss = {
    .name = "seed_oss",
    .gguf = "seed_oss",
    .classes = "SeedOssForCausalLM",
    .model_types = "seed_oss",
    .about = "biases of queries, keys and values, a head size of its own",
    .keys = {sizes, rope_keys},
    .layer_tensors = {attention_maybe_with_biases, attention_output_and_post_norm, gated_feed_forward},
    .fixed = fixed,
    .config = {.members = {{"attention_bias", "@attn_q.bias"}}},
};
MU_FAMILY(seed_oss);

}  // namespace modelutils::arch::families::seed_oss
