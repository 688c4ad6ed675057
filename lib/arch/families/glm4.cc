// GLM-4: rotates adjacent pairs of part of the head; gate and up in one matrix. glm4 (GLM-4-0414) also has norms after
// attention and feed-forward; glm (GLM-4-9b, Edge) does not, and llama.cpp calls it chatglm. The text parts of GLM-4V
// and GLM-OCR are glm4 with rope sections for images, which llama.cpp rotates in halves.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/prediction_rows.h"

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
constexpr auto sectioned_rope = with_sections(rope);
constexpr auto sectioned_whole_rope = with_sections(partial_rope_keys);
static Status gather(ConfigWriter& out) {
  gather_rope_parameters(out);
  return {};
}
constexpr auto attention_in_halves = [] {
  auto rows = attention_maybe_with_biases;
  named(rows, "attn_q").source = "self_attn.q_proj{H d:D -> H d/R}";
  named(rows, "attn_k").source = "self_attn.k_proj{K d:D -> K d/R}";
  return rows;
}();
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

constexpr Family glm4v = {
    .name = "glm4v",
    .gguf = "glm4",
    .classes = "Glm4vForConditionalGeneration",
    .model_types = "glm4v|glm4v_text",
    .about = "the text part: glm4 with rope sections, its rotated pairs written as halves",
    .gguf_key = "rope.dimension_sections",
    .keys = {sizes, sectioned_rope},
    .layer_tensors = {attention_in_halves, attention_output, feed_forward, norms_after},
    .prediction = {.tensors = nextn_tensors},
    .fixed = {rotates_pairs},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}}, .text_model_type = "glm4v_text"},
    .cache = {.prediction = PredictionBlocks::cached},
};
MU_FAMILY(glm4v);

constexpr Family glm_ocr = {
    .name = "glm-ocr",
    .gguf = "glm4",
    .classes = "GlmOcrForConditionalGeneration",
    .model_types = "glm_ocr|glm_ocr_text",
    .about = "the text part: as glm4v with whole heads rotated and a block that predicts further tokens",
    .gguf_when = "R==D",
    .gguf_key = "rope.dimension_sections",
    .keys = {sizes, sectioned_whole_rope},
    .layer_tensors = {attention_in_halves, attention_output, feed_forward, norms_after},
    .prediction = {.tensors = nextn_tensors},
    .fixed = {rotates_pairs},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}}, .describe = gather, .text_model_type = "glm_ocr_text"},
    .cache = {.prediction = PredictionBlocks::cached},
};
MU_FAMILY(glm_ocr);

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
