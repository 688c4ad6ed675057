// GLM-4: rotates adjacent pairs of part of the head; gate and up in one matrix. glm4 (GLM-4-0414) also has norms after
// attention and feed-forward; glm (GLM-4-9b, Edge) does not, and llama.cpp calls it chatglm.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::glm4 {

constexpr auto sizes = decoder_sizes({.context = "32768"});
constexpr auto rope = partial_rope_keys_of("D/2");  // the classes' default partial_rotary_factor
constexpr Tensor feed_forward[] = {
    {"ffn_up", "E,2*F", "mlp.gate_up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
};
constexpr Tensor norms_after[] = {
    {"post_attention_norm", "E", "post_self_attn_layernorm"},
    {"post_ffw_norm", "E", "post_mlp_layernorm"},
};
// mlx-lm's class for glm does not support partial rotation.
static Status check_rotation(KeyWriter& out) {
  if (out.is_mlx() && out.size("R") != out.size("D")) {
    out.warn("partial_rotary_factor", fmt::format("rotates {} of {} elements of a head, as the model's own class does; "
                                                  "mlx-lm rotates all of them, so its results differ",
                                                  out.size("R"), out.size("D")));
  }
  return {};
}

constexpr Family glm4 = {
    .name = "glm4",
    .gguf = "glm4",
    .classes = "Glm4ForCausalLM",
    .model_types = "glm4",
    .about = "norms before and after both halves of a layer, gate and up in one matrix, partial rotation of pairs",
    .keys = {sizes, rope},
    .layer_tensors = {attention_maybe_with_biases, attention_output, feed_forward, norms_after},
    .fixed = {rotates_pairs},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}}},
    .cache = {.prediction = PredictionBlocks::cached},
};
MU_FAMILY(glm4);

constexpr Family glm = {
    .name = "glm",
    .gguf = "chatglm",
    .classes = "GlmForCausalLM",
    .model_types = "glm",
    .about = "gate and up in one matrix, partial rotation of pairs",
    .tied_by_default = true,
    .keys = {sizes, rope},
    .layer_tensors = {attention_maybe_with_biases, attention_output, feed_forward},
    .fixed = {rotates_pairs},
    .relations = {whole_width},
    .checks = {check_rotation},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}}},
    .tokenizer = {.pre_of_ranks = "chatglm=chatglm-bpe"},
};
MU_FAMILY(glm);

}  // namespace modelutils::arch::families::glm4
