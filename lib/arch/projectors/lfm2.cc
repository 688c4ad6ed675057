// LFM2-VL: SigLIP 2 with patches as rows of a matrix, without its last layers.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::lfm2 {

static std::optional<u64> used_layers(const hf::Config& config, const Sizes& /*sizes*/) {
  return layers_to_feature(config, -1);
}

static Status describe(ConfigWriter& out) {
  out.set("projector_use_layernorm", out.has_tensor("mm.input_norm.weight"));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").fallback = "256";
  named(rows, "vision.image_size").missing = Missing::assume;
  named(rows, "vision.block_count").fields = {};
  named(rows, "vision.block_count").derive = used_layers;
  return rows;
}();
constexpr Key more[] = {
    vision_epsilon(layer_norm_eps, "1e-6"),
    size_key("vision.projector.scale_factor", "downsample_factor", "S", "2"),
    use_gelu,
    unwritten_size("vision_config.num_patches", "N"),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "16,16,3,E", "embeddings.patch_embedding{{o:E y:16 x:16 c:3 -> o c y x}}", "E,768",
           Need::required),
    table("v.position_embd", "E,N", "embeddings.position_embedding"),
    norm("v.post_ln", "E", "post_layernorm"),
};
constexpr Tensor projector[] = {
    {.name = "mm.input_norm",
     .ne = "E*S*S",
     .source = "layer_norm",
     .need = Need::optional,
     .bias = Need::optional,
     .f32 = true},
    linear("mm.1", "E*S*S,A", "linear_1"),
    linear("mm.2", "A,T", "linear_2"),
};

constexpr ProjectorFamily lfm2 = {
    .rows = {.name = "lfm2",
             .gguf = "clip",
             .classes = "Lfm2VlForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "siglip2_vision_model"},
                                    {"vision_config.num_hidden_layers", "=L"},
                                    {"vision_config.num_patches", "=N"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.vision_use_head", "false"},
                                    {"projector_hidden_size", "=A"},
                                    {"projector_hidden_act", "gelu"},
                                    {"vision_feature_layer", "-1"}},
                        .describe = describe,
                        .model_type = "lfm2_vl"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.vision_model.|model.vision_tower.vision_model.|model.vision_tower.|vision_tower.",
              "[mlx] multi_modal_projector.|model.multi_modal_projector."},
    .groups = {siglip_layers(), {.rows = outside}, {.rows = projector, .root = 1}},
    .left_out = "head.",
    .last_layers = "encoder.layers.",
    .token_members = "image_token_id=<image>",
};
MU_PROJECTOR(lfm2);

}  // namespace modelutils::arch::towers::lfm2
