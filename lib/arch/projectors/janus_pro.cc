// Janus-Pro: SigLIP for understanding; the parts that make images are left out.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::janus_pro {

static std::optional<u64> feed_forward_of_ratio(const hf::Config& config, const Sizes& sizes) {
  const double ratio = config.number_field("vision_config.mlp_ratio").value_or(4);
  if (!(ratio > 0 && ratio <= 1024)) return std::nullopt;
  return static_cast<u64>(std::lround(static_cast<double>(sizes.get("E")) * ratio));
}

static Status describe(ConfigWriter& out) {
  const double width = static_cast<double>(std::max<u64>(out.size("E"), 1));
  out.set("vision_config.mlp_ratio", static_cast<double>(out.size("F")) / width);
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.feed_forward_length").derive = feed_forward_of_ratio;
  return rows;
}();
constexpr Key more[] = {vision_epsilon(layer_norm_eps, "1e-6"), use_gelu};
constexpr auto layer = [] {
  auto rows = siglip_layer;
  named(rows, "attn_out").source = "self_attn.projection_layer";
  return rows;
}();
constexpr Tensor projector[] = {
    linear("mm.0", "E,A", "fc1"),
    linear("mm.1", "A,T", "hidden_layers.0"),
};

constexpr ProjectorFamily janus_pro = {
    .rows = {.name = "janus_pro",
             .gguf = "clip",
             .classes = "JanusForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "janus_vision_model"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.projection_dim", "=T"},
                                    {"vision_config.depth", "2"}},
                        .describe = describe,
                        .model_type = "janus",
                        // No release of mlx-vlm has this class, so both forms have the published names.
                        .mlx_text_prefix = "model.language_model."}},
    .encoder = "vision",
    .roots = {"model.vision_model.|vision_model.", "model.aligner.|aligner."},
    .groups = {siglip_layers(layer), {.rows = siglip_outside}, {.rows = projector, .root = 1}},
    .token_members = "image_token_id=<image_placeholder>",
};
MU_PROJECTOR(janus_pro);

}  // namespace modelutils::arch::towers::janus_pro
