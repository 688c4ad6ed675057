// Idefics 3 and SmolVLM: SigLIP, a pixel shuffle and one matrix.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::idefics3 {

// For a tower of this width, SmolVLM2's config.json omits the head count, so the class's default applies.
static std::optional<u64> heads_of_class(const hf::Config& /*config*/, const Sizes& sizes) {
  return sizes.get("E") == 1152 ? std::optional<u64>(16) : std::nullopt;
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.attention.head_count").derive = heads_of_class;
  return rows;
}();
constexpr Key more[] = {
    vision_epsilon(layer_norm_eps, "1e-5"),
    size_key("vision.projector.scale_factor", "scale_factor", "S", "2"),
    use_gelu,
    {.name = "vision.preproc_image_size",
     .fields = "preprocessor_config.size.longest_edge",
     .fallback = "I",
     .missing = Missing::assume},
};
constexpr auto outside = [] {
  auto rows = siglip_outside;
  named(rows, "v.patch_embd").f32 = true;
  return rows;
}();
constexpr Tensor projector[] = {linear("mm.model.fc", "E*S*S,T", "modality_projection.proj", Need::absent)};

constexpr ProjectorFamily idefics3 = {
    .rows = {.name = "idefics3",
             .gguf = "clip",
             .classes = "Idefics3ForConditionalGeneration|SmolVLMForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "idefics3_vision"},
                                    {"vision_config.num_channels", "3"}},
                        .model_type = "idefics3",
                        .mlx_text_prefix = "language_model.",
                        .hf_text_prefix = "model.text_model."}},
    .encoder = "vision",
    .roots = {"[mlx] vision_model.|model.vision_model.", "[mlx] connector.|model.connector."},
    .groups = {siglip_layers(), {.rows = outside}, {.rows = projector, .root = 1}},
    .token_members = "image_token_id=<image>",
};
MU_PROJECTOR(idefics3);

}  // namespace modelutils::arch::towers::idefics3
