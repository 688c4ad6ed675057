// Kimi-VL: MoonViT with a table of positions per row and column.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::kimivl {

// A GGUF has the table of positions as one list; the published one is square.
static std::optional<u64> side_of_table(const hf::Config& config, const Sizes& sizes) {
  if (config.document != nullptr) return std::nullopt;
  const u64 positions = std::min(sizes.get("N"), u64{1} << 32);
  const auto side = static_cast<u64>(std::sqrt(static_cast<double>(positions)));
  return side > 0 && side * side == sizes.get("N") ? std::optional(side) : std::nullopt;
}
constexpr Key side_key(std::string_view field, std::string_view symbol) {
  Key key = unwritten_size(field, symbol);
  key.derive = side_of_table;
  return key;
}

// Kimi's class names the sizes differently from mlx-vlm's.
static Status describe(ConfigWriter& out) {
  out.set("vision_config.merge_kernel_size", hf::config_list(std::vector<u64>{out.size("M"), out.size("M")}));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").fallback = "896";
  named(rows, "vision.image_size").missing = Missing::assume;
  return rows;
}();
constexpr Key more[] = {
    use_gelu,
    size_key("vision.projector.scale_factor", "vision_config.merge_kernel_size", "M", "2"),
    vision_epsilon({}, "1e-5"),
    side_key("vision_config.init_pos_emb_height", "Ph"),
    side_key("vision_config.init_pos_emb_width", "Pw"),
    unwritten_size({}, "N", "Ph*Pw"),
};
constexpr Tensor layer[] = {
    norm("ln1", "E", "norm0"),
    norm("ln2", "E", "norm1"),
    linear("attn_q", "E,E", "[mlx] attn.wqkv{t:3 r:E -> t=0 r} | wqkv{t:3 r:E -> t=0 r}"),
    linear("attn_k", "E,E", "[mlx] attn.wqkv{t:3 r:E -> t=1 r} | wqkv{t:3 r:E -> t=1 r}"),
    linear("attn_v", "E,E", "[mlx] attn.wqkv{t:3 r:E -> t=2 r} | wqkv{t:3 r:E -> t=2 r}"),
    linear("attn_out", "E,E", "[mlx] attn.wo | wo"),
    linear("ffn_up", "E,F", "mlp.fc0"),
    linear("ffn_down", "F,E", "mlp.fc1"),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", "[mlx] patch_embed.proj{{o:E y:P x:P c:3 -> o c y x}} | patch_embed.proj",
           stored_patch, Need::required),
    table("v.position_embd", "E,N", "patch_embed.pos_emb", Need::required, "Ph,Pw,E"),
    norm("v.post_ln", "E", "[mlx] final_layernorm | encoder.final_layernorm"),
};
constexpr Tensor projector[] = {
    norm("mm.input_norm", "E", "pre_norm"),
    linear("mm.1", "E*M*M,A", "linear_1"),
    linear("mm.2", "A,T", "linear_2"),
};

constexpr ProjectorFamily kimivl = {
    .rows = {.name = "kimivl",
             .gguf = "clip",
             .classes = "KimiVLForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "moonvit"},
                                    {"vision_config.depth", "=L"},
                                    {"vision_config.num_heads", "=H"},
                                    {"vision_config.embed_dim", "=E"},
                                    {"vision_config.init_pos_emb_height", "=Ph"},
                                    {"vision_config.init_pos_emb_width", "=Pw"},
                                    {"vision_config.num_channels", "3"}},
                        .describe = describe,
                        .model_type = "kimi_vl",
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_tower.|model.vision_tower.", "multi_modal_projector.|model.multi_modal_projector."},
    .groups = {{.gguf = "v.blk.#.", .source = "[mlx] blocks.#.|encoder.blocks.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .token_members = "media_placeholder_token_id=<|media_pad|>",
};
MU_PROJECTOR(kimivl);

}  // namespace modelutils::arch::towers::kimivl
