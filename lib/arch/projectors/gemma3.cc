// Gemma 3: SigLIP, pooled to a fixed number of tokens, then a projection, stored transposed.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::gemma3 {

constexpr Key more[] = {
    vision_epsilon(layer_norm_eps, "1e-6"),
    use_gelu,
    {.name = "vision.projector.scale_factor",
     .fields = "preprocessor_config.image_seq_length",
     .fallback = "256",
     .write = write_pooling,
     .read = read_pooling},
};
constexpr auto outside = [] {
  auto rows = siglip_outside;
  named(rows, "v.patch_embd").f32 = true;
  return rows;
}();
constexpr Tensor projector[] = {
    {.name = "@mm.input_projection.weight", .ne = "T,E", .source = "mm_input_projection_weight", .plain = plain_kernel},
    {.name = "mm.soft_emb_norm", .ne = "E", .source = "mm_soft_emb_norm@add_one", .f32 = true},
};

constexpr ProjectorFamily gemma3 = {
    .rows = {.name = "gemma3",
             .gguf = "clip",
             .classes = "Gemma3ForConditionalGeneration",
             .model_types = {},
             .keys = {vision_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "siglip_vision_model"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.vision_use_head", "false"},
                                    {"mm_tokens_per_image", "256"},
                                    {"preprocessor_config.size.height", "=I"},
                                    {"preprocessor_config.size.width", "=I"},
                                    {"preprocessor_config.image_processor_type", "Gemma3ImageProcessor"}},
                        .model_type = "gemma3",
                        .text_model_type = "gemma3_text",
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_tower.vision_model.|model.vision_tower.vision_model.|model.vision_tower.|vision_tower.",
              "multi_modal_projector.|model.multi_modal_projector."},
    .groups = {siglip_layers(), {.rows = outside}, {.rows = projector, .root = 1}},
    .left_out = "head.",
    .token_members =
        "boi_token_index=<start_of_image>|eoi_token_index=<end_of_image>|image_token_index=<image_soft_token>",
};
MU_PROJECTOR(gemma3);

}  // namespace modelutils::arch::towers::gemma3
