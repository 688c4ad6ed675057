// Granite 4 Vision: SigLIP, and a query transformer for each layer of the text model that receives image features.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::granite4_vision {

namespace {

// A projector: the layer of the tower that it reads, the layer of the text model that it feeds, and its number among
// those of its kind.
struct Link {
  u64 vision = 0;
  u64 text = 0;
  u64 number = 0;
  bool is_spatial = false;
};

// Converts a layer number to an index; negative numbers count from the end.
std::optional<u64> layer_at(json::Element value, u64 layers) {
  i64 at = 0;
  if (!value.get(at)) return std::nullopt;
  if (at < 0) at += static_cast<i64>(std::min<u64>(layers, max_layers));
  return at < 0 ? std::nullopt : std::optional(static_cast<u64>(at));
}

// Returns the projectors in the order of the GGUF: by layer of the text model.
std::vector<Link> links_of(const hf::Config& config) {
  const u64 vision_layers = config.count_field("vision_config.num_hidden_layers").value_or(0);
  const u64 text_layers = config.count_field("text_config.num_hidden_layers").value_or(0);
  std::vector<Link> links;
  json::Array list;
  if (const auto field = config.field("deepstack_layer_map"); field && field->get(list)) {
    std::vector<std::pair<i64, i64>> pairs;
    for (const json::Element each : list) {
      json::Array pair;
      std::pair<i64, i64> layers;
      if (!each.get(pair) || pair.size() != 2 || !pair.at(0)->get(layers.first) || !pair.at(1)->get(layers.second)) {
        return {};
      }
      pairs.push_back(layers);
    }
    std::ranges::sort(pairs);
    for (const auto& [vision, text] : pairs) {
      const auto from_end = [](i64 layer, u64 layers) {
        return static_cast<u64>(layer < 0 ? layer + static_cast<i64>(std::min<u64>(layers, max_layers)) : layer);
      };
      links.push_back({from_end(vision, vision_layers), from_end(text, text_layers), links.size(), false});
    }
  }
  if (const auto field = config.field("spatial_target_layers"); field && field->get(list)) {
    const auto stated = config.field("spatial_vision_layer");
    const u64 vision =
        stated ? layer_at(*stated, vision_layers).value_or(0) : vision_layers - std::min<u64>(vision_layers, 1);
    u64 number = 0;
    for (const json::Element each : list) {
      const auto text = layer_at(each, text_layers);
      if (!text) return {};
      links.push_back({vision, *text, number++, true});
    }
  }
  if (links.size() > max_layers) return {};
  std::ranges::stable_sort(links, {}, &Link::text);
  return links;
}

// Returns the GGUF positions of the projectors of one kind, in their own order.
std::vector<u64> places_of(const hf::Config& config, bool is_spatial) {
  const std::vector<Link> links = links_of(config);
  std::vector<u64> places;
  for (u64 number = 0; number < links.size(); ++number) {
    for (u64 place = 0; place < links.size(); ++place) {
      const Link& link = links[static_cast<std::size_t>(place)];
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
  const std::vector<Link> links = links_of(out.config());
  if (links.empty())
    return out.refuse("deepstack_layer_map", "names no layers, and spatial_target_layers does not either");
  std::vector<u64> layers;
  std::vector<i32> offsets;
  for (const Link& link : links) {
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
             .relations = {whole_vision_heads}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.vision_model.|model.vision_tower.vision_model.|model.vision_tower.|vision_tower.",
              "?[mlx] layerwise_projectors.|model.layerwise_projectors.",
              "?[mlx] spatial_projectors.|model.spatial_projectors.", "?[mlx] image_|model.image_"},
    .groups = {siglip_layers(),
               {.rows = siglip_outside},
               {.gguf = "v.proj_blk.#.", .source = "#.", .rows = projector, .root = 1, .numbers = layerwise},
               {.gguf = "v.proj_blk.#.", .source = "#.", .rows = projector, .root = 2, .numbers = spatial},
               {.rows = newline, .root = 3}},
    .left_out = "head.",
};
MU_PROJECTOR(granite4_vision);

}  // namespace modelutils::arch::towers::granite4_vision
