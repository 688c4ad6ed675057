// Hunyuan, dense: norms of queries and keys after the rotation, a rope base stretched by alpha.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::hunyuan_dense {

constexpr auto sizes = decoder_sizes({.context = "32768", .epsilon = "1e-5"});

constexpr Fixed fixed[] = {
    rotates_halves,
    {"use_qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys"},
    {"attention_bias", "false", Severity::error, "llama.cpp accepts no biases"},
    {"use_cla", "false", Severity::error, "llama.cpp has keys and values in every layer"},
};

constexpr Family hunyuan_dense = {
    .name = "hunyuan-dense",
    .gguf = "hunyuan-dense",
    .classes = "HunYuanDenseV1ForCausalLM",
    .model_types = "hunyuan_v1_dense",
    .about = "norms of queries and keys after the rotation, the rope base stretched by alpha",
    .tied_by_default = true,
    .keys = {sizes, stretched_rope_keys},
    .layer_tensors = {attention, hunyuan_qk_norms, attention_output, gated_feed_forward},
    .fixed = fixed,
    .config = {.members = {{"rope_scaling", "null"}}},
};
MU_FAMILY(hunyuan_dense);

}  // namespace modelutils::arch::families::hunyuan_dense
