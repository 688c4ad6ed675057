// Hunyuan, dense: norms of queries and keys after the rotation, the rope base stretched by alpha.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/rope.h"

namespace modelutils::arch::families::hunyuan_dense {

namespace {

constexpr auto sizes = decoder_sizes({.context = "32768", .epsilon = "1e-5"});

constexpr auto rope = [] {
  auto keys = rope_keys;
  keys[1].write = write_stretched_theta;
  keys[3].write = write_scaling_besides_alpha;
  return keys;
}();
constexpr Tensor norms[] = {
    {"attn_q_norm", "D", "self_attn.query_layernorm"},
    {"attn_k_norm", "D", "self_attn.key_layernorm"},
};
constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"},
    {"attention_bias", "false", Severity::error, "llama.cpp accepts no biases"},
    {"use_cla", "false", Severity::error, "llama.cpp has keys and values in every layer"},
};
constexpr Member members[] = {
    {"rope_scaling", "null"},
};

}  // namespace

const Family hunyuan_dense = {
    .name = "hunyuan-dense",
    .gguf = "hunyuan-dense",
    .classes = "HunYuanDenseV1ForCausalLM",
    .model_types = "hunyuan_v1_dense",
    .about = "norms of queries and keys after the rotation, the rope base stretched by alpha",
    .tied_by_default = true,
    .keys = {sizes, rope},
    .layer_tensors = {attention, norms, attention_output, gated_feed_forward},
    .first_tensors = embedding,
    .last_tensors = norm_and_head,
    .fixed = fixed,
    .config = {.members = members},
};

}  // namespace modelutils::arch::families::hunyuan_dense
