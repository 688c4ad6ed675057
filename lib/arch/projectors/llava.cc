// LLaVA 1.5 and 1.6: CLIP without its last layers.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::llava {

static bool has_clip(const hf::Config& config) {
  return config.string_field("vision_config.model_type").value_or("clip_vision_model") == "clip_vision_model";
}

// Quick GELU, CLIP's default, has no key.
static Status write_gelu(KeyWriter& out, const Key& key) {
  const auto stated = out.config().string_field(key.fields);
  if (stated == "quick_gelu" || !stated) {
    out.flag(key.name, false);
    return {};
  }
  return write_activation(out, key);
}

// LLaVA 1.6 has an embedding that marks the end of a row.
static Status describe(ConfigWriter& out) {
  if (out.has_tensor("v.image_newline")) {
    set_identity(out, "LlavaNextForConditionalGeneration", "llava_next");
  } else {
    set_identity(out, "LlavaForConditionalGeneration", "llava");
  }
  MU_ASSIGN(const std::vector<u64> sizes, out.counts("vision.image_grid_pinpoints"));
  std::vector<hf::ConfigValue> pairs;
  for (std::size_t i = 0; i + 1 < sizes.size(); i += 2) {
    pairs.push_back(hf::config_list(std::vector<u64>{sizes[i], sizes[i + 1]}));
  }
  if (!pairs.empty()) out.set("image_grid_pinpoints", std::move(pairs));
  return {};
}

static Status write_feature_layer(KeyWriter& out, const Key& key) {
  return out.counts(key.name, {out.size("L")});
}

// LLaVA 1.6 divides an image into the grid of these sizes that fits best.
static Status write_pinpoints(KeyWriter& out, const Key& key) {
  const auto field = out.config().field(key.fields);
  json::Array list;
  if (!field || !field->get(list) || list.size() == 0) return {};
  std::vector<u64> sizes;
  for (const json::Element each : list) {
    json::Array pair;
    u64 width = 0;
    u64 height = 0;
    if (!each.get(pair) || pair.size() != 2 || !pair.at(0)->get(width) || !pair.at(1)->get(height)) {
      return out.refuse(key.fields, "is not a list of pairs of numbers");
    }
    sizes.push_back(width);
    sizes.push_back(height);
  }
  MU_TRY(out.counts(key.name, sizes));
  out.text("vision.mm_patch_merge_type", "spatial_unpad");
  return {};
}

static std::optional<u64> used_layers(const hf::Config& config, const Sizes& /*sizes*/) {
  return layers_to_feature(config, -2);
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.block_count").fields = {};
  named(rows, "vision.block_count").derive = used_layers;
  named(rows, "vision.image_size").fallback = "224";
  return rows;
}();
constexpr Key more[] = {
    {.name = "use_gelu",
     .type = KeyType::flag,
     .fields = "vision_config.hidden_act",
     .write = write_gelu,
     .read = read_activation},
    vision_epsilon(layer_norm_eps, "1e-5"),
    {.name = "vision.feature_layer", .type = KeyType::u32_list, .write = write_feature_layer},
    {.name = "vision.image_grid_pinpoints",
     .type = KeyType::u32_list,
     .fields = "image_grid_pinpoints",
     .write = write_pinpoints},
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", patch_of_siglip, stored_patch),
    table("v.position_embd", "E,I/P*(I/P)+1", "embeddings.position_embedding"),
    table("@v.class_embd", "E", "embeddings.class_embedding"),
    norm("v.pre_ln", "E", "pre_layrnorm"),
};
constexpr Tensor projector[] = {linear("mm.0", "E,A", "linear_1"), linear("mm.2", "A,T", "linear_2")};
constexpr Tensor newline[] = {table("@v.image_newline", "T", "newline", Need::optional)};

constexpr ProjectorFamily llava = {
    .rows = {.name = "mlp",
             .gguf = "clip",
             .classes = "LlavaForConditionalGeneration|LlavaNextForConditionalGeneration",
             .model_types = {},
             .fits = has_clip,
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "clip_vision_model"},
                                    {"vision_config.num_hidden_layers", "=L+1"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.projection_dim", "768"},
                                    {"projector_hidden_act", "gelu"},
                                    {"vision_feature_layer", "-2"},
                                    {"vision_feature_select_strategy", "default"}},
                        .describe = describe,
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_tower.vision_model.|model.vision_tower.vision_model.|model.vision_tower.|vision_tower.",
              "multi_modal_projector.|model.multi_modal_projector.", "?image_|model.image_"},
    .groups = {siglip_layers(), {.rows = outside}, {.rows = projector, .root = 1}, {.rows = newline, .root = 2}},
    .left_out = "post_layernorm.|head.",
    .last_layers = "encoder.layers.",
    .token_members = "image_token_index=<image>",
    .copies_last_layer = true,
};
MU_PROJECTOR(llava);

}  // namespace modelutils::arch::towers::llava
