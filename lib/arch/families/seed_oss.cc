// Seed-OSS: a qwen2 with a head size of its own; the second norm goes by another name.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::seed_oss {

namespace {

constexpr auto sizes = decoder_sizes({.context = "524288", .epsilon = "1e-6", .head_dim = "128"});
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::optional},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"partial_rotary_factor", "1", Severity::error, "llama.cpp rotates the whole head"},
    {"attention_out_bias", "false", Severity::error, "llama.cpp accepts no bias of the output projection"},
    {"mlp_bias", "false", Severity::error, "llama.cpp accepts no biases of the feed-forward part"},
};
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
};

}  // namespace

const Family seed_oss = {
    .name = "seed_oss",
    .gguf = "seed_oss",
    .classes = "SeedOssForCausalLM",
    .model_types = "seed_oss",
    .about = "biases of queries, keys and values, a head size of its own",
    .keys = {sizes, rope_keys},
    .layer_tensors = {layer, gated_feed_forward},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .config = {.members = members},
};

}  // namespace modelutils::arch::families::seed_oss
