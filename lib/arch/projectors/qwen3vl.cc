// Qwen3-VL, Qwen3.5 and the vision tower of Qwen3-Omni: fused attention, a table of positions, mergers after several
// deeper layers.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::qwen3vl {

// The table of positions is square.
static std::optional<u64> image_of_positions(const hf::Config& config, const Sizes& sizes) {
  const u64 positions = config.count_field("vision_config.num_position_embeddings").value_or(2304);
  return static_cast<u64>(std::sqrt(static_cast<double>(std::min(positions, u64{1} << 32)))) * sizes.get("P");
}

// Returns the layers whose output passes through a separate merger.
static std::vector<u64> deep_layers(const hf::Config& config, const Sizes& /*sizes*/) {
  std::vector<u64> layers;
  const auto field = config.field("vision_config.deepstack_visual_indexes");
  json::Array list;
  if (!field || !field->get(list)) return layers;
  for (const json::Element each : list) {
    u64 layer = 0;
    if (layers.size() < max_layers && each.get(layer)) layers.push_back(layer);
  }
  return layers;
}

static Status write_deep_layers(KeyWriter& out, const Key& key) {
  std::vector<bool> flags(static_cast<std::size_t>(out.size("L")), false);
  u64 before = 0;
  for (const u64 layer : deep_layers(out.config(), out.sizes())) {
    if (layer >= flags.size()) {
      return out.refuse("vision_config.deepstack_visual_indexes",
                        fmt::format("has {}, but the tower has {} layers", layer, flags.size()));
    }
    if (flags[static_cast<std::size_t>(layer)] || layer < before) {
      return out.refuse("vision_config.deepstack_visual_indexes", "does not have layers in increasing order");
    }
    flags[static_cast<std::size_t>(layer)] = true;
    before = layer;
  }
  out.flags(key.name, flags);
  return {};
}

static Status read_deep_layers(ConfigWriter& out, const Key& /*key*/) {
  std::vector<u64> layers;
  for (u64 layer = 0; layer < out.size("L"); ++layer) {
    if (out.has_tensor(fmt::format("v.deepstack.{}.fc1.weight", layer))) layers.push_back(layer);
  }
  out.set("vision_config.deepstack_visual_indexes", hf::config_list(layers));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").derive = image_of_positions;
  return rows;
}();
constexpr Key more[] = {
    use_gelu,
    size_key("vision.spatial_merge_size", merge_size, "M", "2"),
    vision_epsilon("text_config.rms_norm_eps", "1e-6"),
    {.name = "vision.is_deepstack_layers",
     .type = KeyType::flag_layers,
     .write = write_deep_layers,
     .read = read_deep_layers},
    unwritten_size("vision_config.num_position_embeddings", "N", "2304"),
};
constexpr std::array<Tensor, 2> feed_forward = {
    {linear("ffn_up", "E,F", "mlp.linear_fc1"), linear("ffn_down", "F,E", "mlp.linear_fc2")}};
constexpr auto layer = joined(norms_of_blocks, fused_attention, feed_forward);
constexpr Tensor deep[] = {
    norm("norm", "E*M*M", "norm | ln_q"),
    linear("fc1", "E*M*M,E*M*M", "linear_fc1 | mlp.0"),
    linear("fc2", "E*M*M,T", "linear_fc2 | mlp.2"),
};
constexpr std::array<Tensor, 4> own = {{
    table("v.position_embd", "E,N", "pos_embed"),
    norm("v.post_ln", "E", "merger.norm | merger.ln_q"),
    linear("mm.0", "E*M*M,E*M*M", "merger.linear_fc1 | merger.mlp.0"),
    linear("mm.2", "E*M*M,T", "merger.linear_fc2 | merger.mlp.2"),
}};
constexpr auto outside = joined(patch_of_two, patch_bias, own);

// Qwen3-Omni names the mergers' parts in another way, also in mlx-vlm's form.
constexpr Tensor deep_of_omni[] = {
    norm("norm", "E*M*M", "ln_q | norm"),
    linear("fc1", "E*M*M,E*M*M", "mlp.0 | linear_fc1"),
    linear("fc2", "E*M*M,T", "mlp.2 | linear_fc2"),
};
constexpr std::array<Tensor, 4> own_of_omni = {{
    table("v.position_embd", "E,N", "pos_embed"),
    norm("v.post_ln", "E", "merger.ln_q | merger.norm"),
    linear("mm.0", "E*M*M,E*M*M", "merger.mlp.0 | merger.linear_fc1"),
    linear("mm.2", "E*M*M,T", "merger.mlp.2 | merger.linear_fc2"),
}};
constexpr auto outside_of_omni = joined(patch_of_two, patch_bias, own_of_omni);

constexpr ProjectorFamily qwen3vl = {
    .rows = {.name = "qwen3vl_merger",
             .gguf = "clip",
             .classes = "Qwen3VLForConditionalGeneration|Qwen3VLMoeForConditionalGeneration|"
                        "Qwen3_5ForConditionalGeneration|Qwen3_5MoeForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = "vision_config.depth|vision_config.num_heads|vision_config.hidden_size",
                        .members = {{"vision_config.model_type", "qwen3_vl"},
                                    {"vision_config.out_hidden_size", "=T"},
                                    {"vision_config.num_position_embeddings", "=N"},
                                    {"vision_config.temporal_patch_size", "2"},
                                    {"vision_config.in_channels", "3"}},
                        .model_type = "qwen3_vl",
                        .text_model_type = "qwen3_vl_text"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.|model.visual.|visual.|model.language_model.visual.|model.vision_tower."},
    .groups = {blocks(layer),
               {.rows = outside},
               {.gguf = "v.deepstack.#.",
                .source = "deepstack_merger_list.#.|merger_list.#.",
                .rows = deep,
                .numbers = deep_layers}},
    .token_members =
        "image_token_id=<|image_pad|>|video_token_id=<|video_pad|>|"
        "vision_start_token_id=<|vision_start|>|vision_end_token_id=<|vision_end|>",
};
MU_PROJECTOR(qwen3vl);

constexpr ProjectorFamily qwen3omni = [] {
  ProjectorFamily family = qwen3vl;
  family.rows.classes = "Qwen3OmniMoeForConditionalGeneration|Qwen3OmniMoeThinkerForConditionalGeneration";
  family.roots = {"[mlx] thinker.vision_tower.|thinker.visual.|visual."};
  family.groups = {blocks(layer),
                   {.rows = outside_of_omni},
                   {.gguf = "v.deepstack.#.",
                    .source = "merger_list.#.|deepstack_merger_list.#.",
                    .rows = deep_of_omni,
                    .numbers = deep_layers}};
  family.rows.config.members = {{"vision_config.model_type", "qwen3_omni_moe_vision_encoder"},
                                {"vision_config.out_hidden_size", "=T"},
                                {"vision_config.num_position_embeddings", "=N"},
                                {"vision_config.temporal_patch_size", "2"},
                                {"vision_config.in_channels", "3"},
                                {"position_id_per_seconds", "13"},
                                {"enable_audio_output", "false"}};
  family.rows.config.model_type = "qwen3_omni_moe";
  family.rows.config.text_model_type = "qwen3_omni_moe_text";
  family.rows.config.mlx_text_prefix = "thinker.language_model.model.|thinker.language_model.";
  family.rows.config.hf_text_prefix = "thinker.model.|thinker.";
  family.token_members =
      "image_token_id=<|image_pad|>|video_token_id=<|video_pad|>|audio_token_id=<|audio_pad|>|"
      "vision_start_token_id=<|vision_start|>|vision_end_token_id=<|vision_end|>|"
      "audio_start_token_id=<|audio_start|>|audio_end_token_id=<|audio_end|>";
  family.outer_object = "thinker_config";
  return family;
}();
MU_PROJECTOR(qwen3omni);

}  // namespace modelutils::arch::towers::qwen3vl
