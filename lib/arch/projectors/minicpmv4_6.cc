// MiniCPM-V 4.6: SigLIP, with a merger between two of its layers.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::minicpmv4_6 {

static bool merges_once(const hf::Config& config) {
  return config.string_field("preprocessor_config.downsample_mode|downsample_mode").value_or("16x") == "4x";
}
static std::optional<u64> has_merger(const hf::Config& config, const Sizes& /*sizes*/) {
  return merges_once(config) ? 0 : 1;
}
static Status write_factor(KeyWriter& out, const Key& key) {
  return out.count(key.name, merges_once(out.config()) ? 2 : 4);
}
static Status read_factor(ConfigWriter& out, const Key& key) {
  out.set("downsample_mode", out.count(key.name) == 2 ? "4x" : "16x");
  return {};
}
static Status read_merging_layer(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(const std::vector<u64> layers, out.counts(key.name));
  if (!layers.empty()) out.set("insert_layer_id", layers.front());
  return {};
}
static Status write_merging_layer(KeyWriter& out, const Key& key) {
  const u64 layer = out.config().count_field(key.fields).value_or(6);
  if (layer >= out.size("L")) {
    return out.refuse(key.fields, fmt::format("is {}, but the tower has {} layers", layer, out.size("L")));
  }
  return out.counts(key.name, {layer});
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = "preprocessor_config.scale_resolution|vision_config.image_size";
  return rows;
}();
constexpr Key more[] = {
    {.name = "vision.projector.scale_factor", .write = write_factor, .read = read_factor},
    {.name = "vision.wa_layer_indexes",
     .type = KeyType::u32_list,
     .fields = "insert_layer_id|vision_config.insert_layer_id",
     .write = write_merging_layer,
     .read = read_merging_layer},
    use_gelu,
    vision_epsilon(layer_norm_eps, "1e-6"),
    derived_size("W", has_merger),
};
// The runtime assumes a table of 70 × 70 positions, whatever the image size.
constexpr auto outside = [] {
  auto rows = siglip_outside;
  named(rows, "v.position_embd").ne = "E,4900";
  return rows;
}();
constexpr auto merger = [] {
  std::array<Tensor, 8> rows = {{
      norm("v.vit_merger.ln1", "E", "layer_norm1"),
      linear("v.vit_merger.attn_q", "E,E", "self_attn.q_proj"),
      linear("v.vit_merger.attn_k", "E,E", "self_attn.k_proj"),
      linear("v.vit_merger.attn_v", "E,E", "self_attn.v_proj"),
      linear("v.vit_merger.attn_out", "E,E", "self_attn.out_proj"),
      norm("v.vit_merger.ds_ln", "E*4", "pre_norm"),
      linear("v.vit_merger.ds_ffn_up", "E*4,A", "linear_1"),
      linear("v.vit_merger.ds_ffn_down", "A,E", "linear_2"),
  }};
  for (Tensor& row : rows) row.when = "W";
  return rows;
}();
constexpr Tensor projector[] = {
    norm("mm.input_norm", "E*4", "mlp.0.pre_norm"),
    linear("mm.up", "E*4,C", "mlp.0.linear_1"),
    linear("mm.down", "C,T", "mlp.0.linear_2"),
};

constexpr ProjectorFamily minicpmv4_6 = {
    .rows = {.name = "minicpmv4_6",
             .gguf = "clip",
             .classes = "MiniCPMV4_6ForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "minicpmv4_6_vision"},
                                    {"vision_config.image_size", "=70*P"},
                                    {"vision_config.num_channels", "3"}},
                        .model_type = "minicpmv4_6"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.|model.vision_tower.",
              "?[mlx] vit_merger.|model.vision_tower.vit_merger.|vision_tower.vit_merger.",
              "[mlx] merger.|model.merger."},
    .groups = {siglip_layers(), {.rows = outside}, {.rows = merger, .root = 1}, {.rows = projector, .root = 2}},
    .left_out = "head.",
    .token_members = "image_token_id=<|image_pad|>|video_token_id=<|video_pad|>",
};
MU_PROJECTOR(minicpmv4_6);

}  // namespace modelutils::arch::towers::minicpmv4_6
