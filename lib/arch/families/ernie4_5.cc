// ERNIE 4.5, dense: a llama that directories also store with adjacent pairs. The text part of PaddleOCR-VL is stored in
// halves and has rope sections for images.
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

constexpr auto sectioned_rope = with_sections(rope_keys);
constexpr Fixed ocr_fixed[] = {
    rotates_halves,
    rotates_whole_head,
    {"use_bias", "false", Severity::error, "the class has no biases"},
};
constexpr Family paddleocr = {
    .name = "paddleocr",
    .gguf = "paddleocr",
    .classes = "PaddleOCRVLForConditionalGeneration",
    .model_types = "paddleocr_vl|paddleocr_vl_text",
    .about = "the text part: ERNIE 4.5 with rotated halves and rope sections",
    .hf_rope_theta = 500000,
    .loader_needs = "rope.dimension_sections",
    .keys = {sizes, sectioned_rope},
    .layer_tensors = {attention, attention_output, gated_feed_forward},
    .fixed = ocr_fixed,
};
MU_FAMILY(paddleocr);

}  // namespace modelutils::arch::families::ernie4_5
