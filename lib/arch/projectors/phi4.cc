// Phi-4 reasoning vision: SigLIP 2 without its last layer.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::phi4 {

static std::optional<u64> all_but_one(const hf::Config& config, const Sizes& /*sizes*/) {
  const auto layers = config.count_field("vision_config.num_hidden_layers");
  return layers && *layers >= 2 ? std::optional(*layers - 1) : std::nullopt;
}

// The table of positions is square.
static std::optional<u64> image_of_positions(const hf::Config& /*config*/, const Sizes& sizes) {
  const u64 positions = sizes.get("N");
  if (positions > u64{1} << 32) return std::nullopt;
  const auto side = static_cast<u64>(std::sqrt(static_cast<double>(positions)));
  return side * side == positions && side > 0 ? checked_mul(side, sizes.get("P")) : std::nullopt;
}

static Status write_pixels_of_patches(KeyWriter& out, const Key& key) {
  const auto patches = out.config().count_field(key.fields);
  if (!patches) return out.refuse(first_name(key.fields), "is missing, but llama.cpp requires it");
  const auto area = checked_mul(out.size("P"), out.size("P"));
  const auto pixels = area ? checked_mul(*area, *patches) : std::nullopt;
  if (!pixels) return out.refuse(first_name(key.fields), "is too large");
  return out.count(key.name, *pixels);
}

static Status read_patches_of_pixels(ConfigWriter& out, const Key& key) {
  const u64 area = out.size("P") * out.size("P");
  const auto pixels = out.count(key.name);
  if (!pixels || area == 0) return {};
  const std::string_view name = first_name(key.fields);
  out.set(name, *pixels / area);
  out.set(name.substr(name.find('.') + 1), *pixels / area);
  return {};
}

// The class reads the patch's side from both files.
static Status describe(ConfigWriter& out) {
  for (const std::string_view object : {"vision_config", "preprocessor_config"}) {
    out.set(fmt::format("{}.patch_size", object), out.size("P"));
  }
  out.set("vision_config.image_size", out.size("I"));
  out.set("vision_config.num_patches", out.size("N"));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").derive = image_of_positions;
  named(rows, "vision.patch_size").fields = "preprocessor_config.patch_size|vision_config.patch_size";
  named(rows, "vision.block_count").fields = {};
  named(rows, "vision.block_count").derive = all_but_one;
  return rows;
}();
constexpr Key more[] = {
    {.name = "vision.image_min_pixels",
     .fields = "preprocessor_config.min_num_patches|min_num_patches",
     .write = write_pixels_of_patches,
     .read = read_patches_of_pixels},
    {.name = "vision.image_max_pixels",
     .fields = "preprocessor_config.max_num_patches|max_num_patches",
     .write = write_pixels_of_patches,
     .read = read_patches_of_pixels},
    use_gelu,
    vision_epsilon(layer_norm_eps, "1e-6"),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", "embeddings.patch_embedding{{o:E y:P x:P c:3 -> o c y x}}", "E,P*P*3",
           Need::required),
    table("v.position_embd", "E,N", "embeddings.position_embedding"),
};
constexpr Tensor projector[] = {
    linear("mm.0", "E,A", "[mlx] linear_1 | 0"),
    linear("mm.2", "A,T", "[mlx] linear_2 | 2"),
};

constexpr ProjectorFamily phi4 = {
    .rows = {.name = "phi4",
             .gguf = "clip",
             .classes = "Phi4ForCausalLMV",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "siglip2_vision_model"},
                                    {"vision_config.num_hidden_layers", "=L+1"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.vision_use_head", "false"},
                                    {"mm_hidden_size", "=E"},
                                    {"mm_projector_type", "mlp2x_gelu"},
                                    {"mm_vision_select_layer", "-2"}},
                        .describe = describe,
                        .model_type = "phi4-siglip",
                        .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.vision_tower.vision_model.|model.vision_tower.vision_tower.vision_model.|"
              "model.vision_tower.vision_tower.|vision_tower.vision_tower.|"
              "vision_tower.vision_model.|vision_tower.",
              "[mlx] mm_projector.|model.mm_projector."},
    .groups = {siglip_layers(), {.rows = outside}, {.rows = projector, .root = 1}},
    .left_out = "post_layernorm.|head.",
    .last_layers = "encoder.layers.",
    .text_object = top_level,
    .copies_last_layer = true,
};
MU_PROJECTOR(phi4);

}  // namespace modelutils::arch::towers::phi4
