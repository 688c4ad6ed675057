// Pixtral and Mistral 3: a tower built like Llama, and an embedding that ends each row of patches.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::pixtral {

static bool is_pixtral(const hf::Config& config) {
  const auto type = config.string_field("vision_config.model_type");
  return type ? type == "pixtral" : config.architecture != "LlavaForConditionalGeneration";
}

// Mistral 3 merges patches.
static Status describe(ConfigWriter& out) {
  if (out.has_tensor("mm.patch_merger.weight")) {
    set_identity(out, "Mistral3ForConditionalGeneration", "mistral3");
  } else {
    set_identity(out, "LlavaForConditionalGeneration", "llava");
  }
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.attention.head_count").fallback = "16";  // the class's default
  return rows;
}();
constexpr Key more[] = {
    vision_epsilon({}, "1e-5"),
    by_activation("gelu"),
    {.name = "vision.spatial_merge_size", .fields = "spatial_merge_size"},
    unwritten_size("spatial_merge_size", "M", "1"),
};
constexpr Tensor embedding_row[] = {
    {.name = "@v.token_embd.img_break",
     .ne = "T",
     .source = "embed_tokens.weight{{v:V e:T -> v[B:B+1] e}}",
     .f32 = true},
};

constexpr ProjectorFamily pixtral = {
    .rows = {.name = "pixtral",
             .gguf = "clip",
             .classes =
                 "LlavaForConditionalGeneration|Mistral3ForConditionalGeneration|PixtralForConditionalGeneration",
             .model_types = {},
             .fits = is_pixtral,
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "pixtral"},
                                    {"vision_config.head_dim", "=E/H"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.rope_theta", "10000"},
                                    {"projector_hidden_act", "gelu"},
                                    {"vision_feature_layer", "-1"}},
                        .describe = describe,
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_tower.|model.vision_tower.|[mlx] vision_tower.vision_model.|model.vision_tower.vision_model.",
              "multi_modal_projector.|model.multi_modal_projector.",
              "~language_model.model.|model.language_model.|model.language_model.model.|language_model."},
    .groups = {{.gguf = "v.blk.#.", .source = "transformer.layers.#.", .rows = pixtral_layer, .count = "L"},
               {.rows = pixtral_outside},
               {.rows = pixtral_projector, .root = 1},
               {.rows = embedding_row, .root = 2}},
    .token = "[IMG_BREAK]",
    .token_members = "image_token_index=[IMG]",
};
MU_PROJECTOR(pixtral);

constexpr ProjectorFamily lightonocr = [] {
  ProjectorFamily family = pixtral;
  family.rows.name = "lightonocr";
  family.rows.classes = "LightOnOCRForConditionalGeneration";
  family.rows.fits = nullptr;
  family.rows.config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "pixtral"},
                                    {"vision_config.head_dim", "=E/H"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.rope_theta", "10000"},
                                    {"projector_hidden_act", "gelu"}},
                        .model_type = "lighton_ocr",
                        .mlx_text_prefix = "model.language_model."};
  // No release of mlx-vlm has this class, so both forms have the published names.
  family.roots = {"model.vision_encoder.|vision_encoder.|vision_tower.vision_model.",
                  "model.vision_projection.|vision_projection.|multi_modal_projector."};
  family.groups = {{.gguf = "v.blk.#.", .source = "transformer.layers.#.", .rows = pixtral_layer, .count = "L"},
                   {.rows = pixtral_outside},
                   {.rows = pixtral_projector, .root = 1}};
  family.token = {};
  family.token_members = "image_token_id=<|image_pad|>";
  return family;
}();
MU_PROJECTOR(lightonocr);

}  // namespace modelutils::arch::towers::pixtral
