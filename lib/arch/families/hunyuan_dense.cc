// Hunyuan, dense: norms of queries and keys after the rotation, a rope base stretched by alpha. The text parts of
// Hunyuan-VL and HunyuanOCR also have rope sections for images.
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

static Status read_four_sections(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(std::vector<u64> sections, out.counts(key.name));
  sections.resize(4);
  out.set("rope_scaling.type", "xdrope");
  out.set("rope_scaling.alpha", 1.0);  // the base is stretched already
  out.set("rope_scaling.xdrope_section", hf::config_list(sections));
  return {};
}
constexpr auto sectioned_rope = [] {
  auto keys = with_sections(stretched_rope_keys);
  named(keys, "rope.scaling.type").write = write_scaling_besides_alpha;
  named(keys, "rope.dimension_sections").read = read_four_sections;
  return keys;
}();

constexpr Family hunyuan_vl = {
    .name = "hunyuan-vl",
    .gguf = "hunyuan_vl",
    .classes = "HunYuanVLForConditionalGeneration|HunYuanVLV1ForConditionalGeneration",
    .model_types = "hunyuan_vl|hunyuan_vl_text",
    .about = "the text part: as hunyuan-dense with rope sections",
    .tied_by_default = true,
    .keys = {sizes, sectioned_rope},
    .layer_tensors = {attention, hunyuan_qk_norms, attention_output, gated_feed_forward},
    .fixed = fixed,
};
MU_FAMILY(hunyuan_vl);

}  // namespace modelutils::arch::families::hunyuan_dense
