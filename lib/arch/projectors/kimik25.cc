// Kimi K2.5: MoonViT with fused attention. The runtime orders rotated pairs by axis.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::kimik25 {

static std::optional<u64> image_of_positions(const hf::Config& /*config*/, const Sizes& sizes) {
  return checked_mul(sizes.get("Ph"), sizes.get("P"));
}

// Converts a number of patches to a number of pixels.
static Status write_pixels(KeyWriter& out, u64 patches, std::string_view name) {
  const auto area = checked_mul(out.size("P"), out.size("P"));
  const auto pixels = area ? checked_mul(*area, patches) : std::nullopt;
  if (!pixels) return out.refuse("vision_config.patch_size", "is too large");
  return out.count(name, *pixels);
}
static Status write_least_pixels(KeyWriter& out, const Key& key) {
  return write_pixels(out, 8, key.name);
}
static Status write_most_pixels(KeyWriter& out, const Key& key) {
  return write_pixels(out, out.config().count_field(key.fields).value_or(16384), key.name);
}

// The sizes as the published class names them, and as mlx-vlm's does.
static Status describe(ConfigWriter& out) {
  out.set("vision_config.merge_kernel_size", hf::config_list(std::vector<u64>{out.size("M"), out.size("M")}));
  const u64 area = std::max<u64>(out.size("P") * out.size("P"), 1);
  if (const auto pixels = out.count("vision.image_max_pixels")) {
    out.set("preprocessor_config.in_patch_limit", *pixels / area);
  }
  for (const auto& [name, symbol] : {std::pair{"hidden_size", "E"},
                                     {"embed_dim", "E"},
                                     {"intermediate_size", "F"},
                                     {"depth", "L"},
                                     {"num_heads", "H"},
                                     {"init_pos_emb_height", "Ph"},
                                     {"init_pos_emb_width", "Pw"}}) {
    out.set(fmt::format("vision_config.{}", name), out.size(symbol));
  }
  out.set("vision_config.mm_hidden_size", out.size("E"));
  out.set("vision_config.text_hidden_size", out.size("T"));
  return {};
}

// These keys do not begin with "clip.".
static Status write_positions(KeyWriter& out, const Key& /*key*/) {
  for (const auto& [name, symbol] : {std::pair{"height", "Ph"}, {"width", "Pw"}, {"time", "Pt"}}) {
    out.keys.push_back(
        gguf::make_key(fmt::format("vision.pos_emb_{}", name), checked_cast<u32>(out.size(symbol)).value_or(0)));
  }
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").derive = image_of_positions;
  named(rows, "vision.embedding_length").fields = "vision_config.vt_hidden_size";
  named(rows, "vision.feed_forward_length").fields = "vision_config.vt_intermediate_size";
  named(rows, "vision.block_count").fields = "vision_config.vt_num_hidden_layers";
  named(rows, "vision.attention.head_count").fields = "vision_config.vt_num_attention_heads";
  return rows;
}();
constexpr Key more[] = {
    {.name = "pos_emb", .write = write_positions},
    use_gelu,
    vision_epsilon("vision_config.projector_ln_eps", "1e-5"),
    size_key("vision.projector.scale_factor", "vision_config.merge_kernel_size", "M", "2"),
    {.name = "vision.image_min_pixels", .write = write_least_pixels},
    {.name = "vision.image_max_pixels", .fields = "preprocessor_config.in_patch_limit", .write = write_most_pixels},
    unwritten_size("vision_config.init_pos_emb_height", "Ph"),
    unwritten_size("vision_config.init_pos_emb_width", "Pw"),
    unwritten_size("vision_config.init_pos_emb_time", "Pt", "4"),
};
#define MU_WQKV(name)                                                                                    \
  name "{t:3 H j:E/H/4 u:2 v:2 -> t=0 H u j v} + " name "{t:3 H j:E/H/4 u:2 v:2 -> t=1 H u j v} + " name \
       "{t:3 r:E -> t=2 r}"
constexpr Tensor layer[] = {
    norm("ln1", "E", "norm0"),
    norm("ln2", "E", "norm1"),
    linear("attn_qkv", "E,3*E", "[mlx] " MU_WQKV("attn.wqkv") " | " MU_WQKV("wqkv")),
    linear("attn_out", "E,E", "[mlx] attn.wo | wo"),
    linear("ffn_up", "E,F", "mlp.fc0"),
    linear("ffn_down", "F,E", "mlp.fc1"),
};
#undef MU_WQKV
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", "[mlx] patch_embed.proj{{o:E y:P x:P c:3 -> o c y x}} | patch_embed.proj",
           stored_patch, Need::required),
    table("v.position_embd", "E,Pw,Ph", "patch_embed.pos_emb"),
    norm("v.post_ln", "E", "[mlx] final_layernorm | encoder.final_layernorm"),
};
constexpr Tensor projector[] = {
    norm("mm.input_norm", "E", "pre_norm"),
    linear("mm.1", "E*M*M,A", "proj.0 | linear_1"),
    linear("mm.2", "A,T", "proj.2 | linear_2"),
};

constexpr ProjectorFamily kimik25 = {
    .rows = {.name = "kimik25",
             .gguf = "clip",
             .classes = "KimiK25ForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_vision_heads},
             .config = {.fields = "vision_config.vt_hidden_size",
                        .members = {{"vision_config.model_type", "kimi_k25_vision"},
                                    {"vision_config.init_pos_emb_time", "=Pt"},
                                    {"vision_config.pos_emb_type", "divided_fixed"},
                                    {"vision_config.merge_type", "sd2_tpool"},
                                    {"vision_config.mm_projector_type", "patchmerger"},
                                    {"vision_config.video_attn_type", "spatial_temporal"}},
                        .describe = describe,
                        .model_type = "kimi_k25",
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_tower.|model.vision_tower.", "mm_projector.|model.mm_projector.|multi_modal_projector."},
    .groups = {{.gguf = "v.blk.#.", .source = "[mlx] blocks.#.|encoder.blocks.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .token_members = "media_placeholder_token_id=<|media_pad|>",
};
MU_PROJECTOR(kimik25);

}  // namespace modelutils::arch::towers::kimik25
