// Granite 4 Vision: SigLIP, and a query transformer for each layer of the text model that receives image features.
#include "arch/projectors/list.h"
#include "arch/vision_links.h"

namespace modelutils::arch::towers::granite4_vision {

namespace {

// Returns the GGUF positions of the projectors of one kind, in their own order.
std::vector<u64> places_of(const hf::Config& config, bool is_spatial) {
  const std::vector<VisionLink> links = vision_links(config);
  std::vector<u64> places;
  for (u64 number = 0; number < links.size(); ++number) {
    for (u64 place = 0; place < links.size(); ++place) {
      const VisionLink& link = links[static_cast<std::size_t>(place)];
      if (link.is_spatial == is_spatial && link.number == number) places.push_back(place);
    }
  }
  return places;
}

}  // namespace

static std::vector<u64> layerwise(const hf::Config& config, const Sizes& /*sizes*/) {
  return places_of(config, false);
}
static std::vector<u64> spatial(const hf::Config& config, const Sizes& /*sizes*/) {
  return places_of(config, true);
}

static Status write_links(KeyWriter& out, const Key& key) {
  const std::vector<VisionLink> links = vision_links(out.config());
  if (links.empty())
    return out.refuse("deepstack_layer_map", "names no layers, and spatial_target_layers does not either");
  std::vector<u64> layers;
  std::vector<i32> offsets;
  for (const VisionLink& link : links) {
    if (link.vision >= out.size("L")) {
      return out.refuse(link.is_spatial ? "spatial_vision_layer" : "deepstack_layer_map",
                        fmt::format("has layer {}, but the tower has {} layers", link.vision, out.size("L")));
    }
    layers.push_back(link.vision);
    offsets.push_back(link.is_spatial ? static_cast<i32>(link.number) : -1);
  }
  MU_TRY(out.counts(key.name, layers));
  out.keys.push_back(gguf::make_key_i32s("clip.vision.projector.spatial_offsets", offsets));
  return {};
}

// "4/8": the window's side in queries, and in patches.
static std::optional<u64> side(const hf::Config& config, bool of_window) {
  const std::string_view text = config.string_field("downsample_rate").value_or("");
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view part = of_window ? text.substr(slash + 1) : text.substr(0, slash);
  u64 value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  return error == std::errc() && end == part.data() + part.size() && value > 0 ? std::optional(value) : std::nullopt;
}
static std::optional<u64> query_side(const hf::Config& config, const Sizes& /*sizes*/) {
  return side(config, false);
}
static std::optional<u64> window_side(const hf::Config& config, const Sizes& /*sizes*/) {
  return side(config, true);
}

// The list states heights first, the key widths first.
static Status write_pinpoints(KeyWriter& out, const Key& key) {
  const auto field = out.config().field(key.fields);
  json::Array list;
  if (!field || !field->get(list) || list.size() == 0) return {};
  std::vector<u64> sizes;
  for (const json::Element each : list) {
    json::Array pair;
    u64 height = 0;
    u64 width = 0;
    if (!each.get(pair) || pair.size() != 2 || !pair.at(0)->get(height) || !pair.at(1)->get(width)) {
      return out.refuse(key.fields, "is not a list of pairs of numbers");
    }
    sizes.push_back(width);
    sizes.push_back(height);
  }
  return out.counts(key.name, sizes);
}

// The projectors of one kind in a projector file, in the order of their own numbers. Layerwise ones are in the order of
// the tower's layers.
static std::vector<u64> places_in_file(const ConfigWriter& file, bool is_spatial) {
  const auto offsets = file.integers("vision.projector.spatial_offsets");
  const auto layers = file.integers("vision.feature_layer");
  if (!offsets || !layers || offsets->size() != layers->size()) return {};
  std::vector<u64> places;
  for (std::size_t i = 0; i < offsets->size(); ++i) {
    if (((*offsets)[i] >= 0) == is_spatial) places.push_back(i);
  }
  std::ranges::stable_sort(places, {}, [&](u64 place) { return (is_spatial ? *offsets : *layers)[place]; });
  return places;
}
static std::vector<u64> layerwise_in_file(const ConfigWriter& file) {
  return places_in_file(file, false);
}
static std::vector<u64> spatial_in_file(const ConfigWriter& file) {
  return places_in_file(file, true);
}

// Writes which layer of the tower feeds which layer of the text model. Layers of the tower count from its end, because
// the class counts the embeddings as the first.
static Status describe_link(ConfigWriter& tower, const ConfigWriter& text) {
  MU_ASSIGN(const std::vector<i64> layers, tower.integers("vision.feature_layer"));
  // The text model's key has the projector of each layer, except the first, which replaces the image's tokens.
  MU_ASSIGN(const std::vector<i64> mapping, text.integers("deepstack_mapping"));
  constexpr u64 published_distance = 3;
  std::vector<u64> targets;
  bool is_assumed = false;
  for (std::size_t place = 0; place < layers.size(); ++place) {
    const auto at = std::ranges::find(mapping, static_cast<i64>(place));
    is_assumed |= place > 0 && at == mapping.end();
    targets.push_back(at == mapping.end() ? (mapping.empty() ? published_distance * place : 0)
                                          : static_cast<u64>(at - mapping.begin()));
  }
  const auto from_end = [&](u64 place) {
    return hf::ConfigValue(layers[static_cast<std::size_t>(place)] - static_cast<i64>(tower.size("L")));
  };
  std::vector<hf::ConfigValue> map;
  for (const u64 place : layerwise_in_file(tower)) {
    map.push_back(std::vector<hf::ConfigValue>{from_end(place), targets[static_cast<std::size_t>(place)]});
  }
  std::vector<u64> spatial_targets;
  for (const u64 place : spatial_in_file(tower)) {
    spatial_targets.push_back(targets[static_cast<std::size_t>(place)]);
    tower.set("spatial_vision_layer", from_end(place));
  }
  const auto set = [&](std::string_view member, hf::ConfigValue value) {
    if (is_assumed) return tower.assume(member, std::move(value));
    tower.set(member, std::move(value));
  };
  if (!map.empty()) set("deepstack_layer_map", std::move(map));
  tower.set("use_spatial_sampling", !spatial_targets.empty());
  if (!spatial_targets.empty()) set("spatial_target_layers", hf::config_list(spatial_targets));
  return {};
}

static Status describe(ConfigWriter& out) {
  out.set("downsample_rate", fmt::format("{}/{}", out.size("Qs"), out.size("Ws")));
  out.set("use_image_newline_parameter", out.has_tensor("v.image_newline"));
  MU_ASSIGN(const std::vector<u64> sizes, out.counts("vision.image_grid_pinpoints"));
  std::vector<hf::ConfigValue> pairs;
  for (std::size_t i = 0; i + 1 < sizes.size(); i += 2) {
    pairs.push_back(hf::config_list(std::vector<u64>{sizes[i + 1], sizes[i]}));
  }
  if (!pairs.empty()) out.set("image_grid_pinpoints", std::move(pairs));
  return {};
}

constexpr Key more[] = {
    vision_epsilon(layer_norm_eps, "1e-6"),
    use_gelu,
    {.name = "vision.preproc_image_size",
     .fields = "vision_config.image_size",
     .fallback = "384",
     .missing = Missing::assume},
    {.name = "vision.projector.query_side",
     .fields = {},
     .symbol = "Qs",
     .missing = Missing::refuse,
     .derive = query_side},
    {.name = "vision.projector.window_side",
     .fields = {},
     .symbol = "Ws",
     .missing = Missing::refuse,
     .derive = window_side},
    {.name = "vision.feature_layer", .type = KeyType::u32_list, .write = write_links},
    {.name = "vision.image_grid_pinpoints",
     .type = KeyType::u32_list,
     .fields = "image_grid_pinpoints",
     .write = write_pinpoints},
};
#define MU_LAYER "qformer.encoder.layer.0."
constexpr Tensor projector[] = {
    table("@img_pos", "E,Ws*Ws,1", "image_positions"),
    table("@query", "E,Qs*Qs,1", "query"),
    norm("norm", "E", "norm"),
    norm("post_norm", "E", "qformer.layernorm"),
    linear("linear", "E,T", "out_linear"),
    linear("self_attn_q", "E,E", MU_LAYER "attention.attention.query"),
    linear("self_attn_k", "E,E", MU_LAYER "attention.attention.key"),
    linear("self_attn_v", "E,E", MU_LAYER "attention.attention.value"),
    linear("self_attn_out", "E,E", MU_LAYER "attention.output.dense"),
    norm("self_attn_norm", "E", MU_LAYER "attention.output.LayerNorm"),
    linear("cross_attn_q", "E,E", MU_LAYER "crossattention.attention.query"),
    linear("cross_attn_k", "E,E", MU_LAYER "crossattention.attention.key"),
    linear("cross_attn_v", "E,E", MU_LAYER "crossattention.attention.value"),
    linear("cross_attn_out", "E,E", MU_LAYER "crossattention.output.dense"),
    norm("cross_attn_norm", "E", MU_LAYER "crossattention.output.LayerNorm"),
    linear("ffn_up", "E,G", MU_LAYER "intermediate_query.dense"),
    linear("ffn_down", "G,E", MU_LAYER "output_query.dense"),
    norm("ffn_norm", "E", MU_LAYER "output_query.LayerNorm"),
};
#undef MU_LAYER
constexpr Tensor newline[] = {table("@v.image_newline", "T", "newline", Need::optional)};

constexpr ProjectorFamily granite4_vision = {
    .rows = {.name = "granite4_vision",
             .gguf = "clip",
             .classes = "Granite4VisionForConditionalGeneration",
             .model_types = {},
             .keys = {vision_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "siglip_vision_model"},
                                    {"vision_config.num_channels", "3"},
                                    {"projector_hidden_act", "gelu"},
                                    {"spatial_stride", "2"},
                                    {"vision_feature_select_strategy", "full"}},
                        .describe = describe,
                        .model_type = "granite4_vision"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.vision_model.|model.vision_tower.vision_model.|model.vision_tower.|vision_tower.",
              "?[mlx] layerwise_projectors.|model.layerwise_projectors.",
              "?[mlx] spatial_projectors.|model.spatial_projectors.", "?[mlx] image_|model.image_"},
    .groups = {siglip_layers(),
               {.rows = siglip_outside},
               {.gguf = "v.proj_blk.#.",
                .source = "#.",
                .rows = projector,
                .root = 1,
                .numbers = layerwise,
                .numbers_in_file = layerwise_in_file},
               {.gguf = "v.proj_blk.#.",
                .source = "#.",
                .rows = projector,
                .root = 2,
                .numbers = spatial,
                .numbers_in_file = spatial_in_file},
               {.rows = newline, .root = 3}},
    .left_out = "head.",
    .token_members = "image_token_index=<image>",
    .describe_link = describe_link,
};
MU_PROJECTOR(granite4_vision);

}  // namespace modelutils::arch::towers::granite4_vision
