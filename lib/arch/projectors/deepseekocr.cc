// DeepSeek-OCR: SAM followed by CLIP, which takes SAM's features in place of patches.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::deepseekocr {

#define MU_CLIP(name) "vision_config.width.clip-l-14-224." name
#define MU_SAM(name) "vision_config.width.sam_vit_b." name
static Status write_feed_forward(KeyWriter& out, const Key& key) {
  return out.count(key.name, out.size("H") * 4);  // as llama.cpp's converter writes it; the runtime does not use it
}

// SAM's settings that no key states, the published ones.
static Status describe(ConfigWriter& out) {
  const std::vector<u64> second = out.shape("v.sam.net_2.weight");
  const std::vector<u64> third = out.shape("v.sam.net_3.weight");
  if (second.size() == 4 && third.size() == 4) {
    out.set(MU_SAM("downsample_channels"), hf::config_list(std::vector<u64>{second[3], third[3]}));
    out.set("projector_config.input_dim", out.size("E") + third[3]);
  }
  // The last of every quarter of the layers has no window.
  std::vector<u64> global;
  const u64 step = std::max<u64>(out.size("Ls") / 4, 1);
  for (u64 layer = step - 1; layer < out.size("Ls"); layer += step) global.push_back(layer);
  out.assume(MU_SAM("global_attn_indexes"), hf::config_list(global));
  out.set("projector_config.n_embed", out.size("T"));
  constexpr u64 side = 1024;  // of the pictures that the published model takes
  out.assume("candidate_resolutions", std::vector<hf::ConfigValue>{hf::config_list(std::vector<u64>{side, side})});
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = MU_CLIP("image_size");
  named(rows, "vision.image_size").fallback = "224";
  named(rows, "vision.patch_size").fields = MU_CLIP("patch_size");
  named(rows, "vision.patch_size").fallback = "14";
  named(rows, "vision.embedding_length").fields = MU_CLIP("width");
  named(rows, "vision.feed_forward_length") = {.name = "vision.feed_forward_length", .write = write_feed_forward};
  named(rows, "vision.block_count").fields = MU_CLIP("layers");
  named(rows, "vision.attention.head_count").fields = MU_CLIP("heads");
  return rows;
}();
constexpr Key more[] = {
    vision_epsilon(layer_norm_eps, "1e-6"),
    use_gelu,
    {.name = "vision.projector.scale_factor",
     .fields = "preprocessor_config.image_seq_length",
     .fallback = "256",
     .write = write_pooling,
     .read = read_pooling},
    {.name = "vision.window_size", .fields = "vision_config.window_size", .fallback = "14", .missing = Missing::assume},
    {.name = "vision.preproc_min_tiles", .fallback = "2", .missing = Missing::assume},
    {.name = "vision.preproc_max_tiles", .fallback = "9", .missing = Missing::assume},
    size_key("vision.sam.block_count", MU_SAM("layers"), "Ls"),
    size_key("vision.sam.embedding_length", MU_SAM("width"), "Es"),
    size_key("vision.sam.head_count", MU_SAM("heads"), "Hs"),
};
#undef MU_CLIP
#undef MU_SAM
constexpr Tensor layer[] = {
    norm("ln1", "E", "layer_norm1"),
    norm("ln2", "E", "layer_norm2"),
    linear("attn_qkv", "E,3*E", "self_attn.qkv_proj"),
    linear("attn_out", "E,E", "self_attn.out_proj"),
    linear("ffn_up", "E,F", "mlp.fc1"),
    linear("ffn_down", "F,E", "mlp.fc2"),
};
constexpr auto outside = [] {
  std::array<Tensor, 4> rows = {{
      kernel("v.patch_embd", "P,P,3,E", patch_of_siglip, stored_patch, Need::optional),
      table("@v.class_embd", "E", "embeddings.class_embedding"),
      table("v.position_embd", "E,N", "embeddings.position_embedding"),
      norm("v.pre_ln", "E", "pre_layrnorm"),
  }};
  rows[0].f32 = true;
  return rows;
}();
constexpr Tensor sam_layer[] = {
    norm("pre_ln", "Es", "norm1"),
    norm("post_ln", "Es", "norm2"),
    linear("attn.qkv", "Es,3*Es", "attn.qkv"),
    linear("attn.out", "Es,Es", "attn.proj"),
    table("@attn.pos_h.weight", "Es/Hs,Rh", "attn.rel_pos_h"),
    table("@attn.pos_w.weight", "Es/Hs,Rw", "attn.rel_pos_w"),
    linear("mlp.lin1", "Es,Fs", "mlp.lin1"),
    linear("mlp.lin2", "Fs,Es", "mlp.lin2"),
};
constexpr Tensor f32_kernel(std::string_view name, ShapeText ne, SourceText source, StoredText stored) {
  Tensor row = kernel(name, ne, source, stored);
  row.f32 = true;
  return row;
}
constexpr Tensor sam_outside[] = {
    kernel("v.sam.patch_embd", "Ps,Ps,3,Es",
           "[mlx] patch_embed.proj{{o:Es y:Ps x:Ps c:3 -> o c y x}} | patch_embed.proj",
           "[mlx] Es,Ps,Ps,3 | Es,3,Ps,Ps", Need::required),
    table("@v.sam.pos_embd.weight", "Es,Gx,Gy,1", "pos_embed"),
    f32_kernel("v.sam.neck.0", "1,1,Es,Kn", "neck.0", "[mlx] Kn,1,1,Es | Kn,Es,1,1"),
    norm("v.sam.neck.1", "Kn", "neck.1"),
    f32_kernel("v.sam.neck.2", "3,3,Kn,Kn", "[mlx] neck.2{{o:Kn y:3 x:3 c:Kn -> o c y x}} | neck.2",
               "[mlx] Kn,3,3,Kn | Kn,Kn,3,3"),
    norm("v.sam.neck.3", "Kn", "neck.3"),
    f32_kernel("v.sam.net_2", "3,3,Kn,Kd", "[mlx] net_2{{o:Kd y:3 x:3 c:Kn -> o c y x}} | net_2",
               "[mlx] Kd,3,3,Kn | Kd,Kn,3,3"),
    f32_kernel("v.sam.net_3", "3,3,Kd,Q", "[mlx] net_3{{o:Q y:3 x:3 c:Kd -> o c y x}} | net_3",
               "[mlx] Q,3,3,Kd | Q,Kd,3,3"),
};
constexpr Tensor projector[] = {linear("mm.model.fc", "E+Q,T", "layers")};
constexpr Tensor newline[] = {table("@v.image_newline", "T", "newline")};
constexpr Tensor separator[] = {table("@v.view_seperator", "T", "[mlx] separator | seperator | separator")};

constexpr ProjectorFamily deepseekocr = {
    .rows = {.name = "deepseekocr",
             .gguf = "clip",
             .classes = "DeepseekOCRForCausalLM",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "vision"},
                                    {"vision_config.model_name", "deeplip_b_l"},
                                    {"vision_config.image_size", "1024"},
                                    {"vision_config.mlp_ratio", "3.7362"},
                                    {"projector_config.model_type", "mlp_projector"},
                                    {"projector_config.projector_type", "linear"},
                                    {"global_view_pos", "head"},
                                    {"tile_tag", "2D"}},
                        .describe = describe,
                        .model_type = "deepseek_vl_v2",
                        .text_model_type = "deepseek_v2",
                        .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"[mlx] vision_model.|model.vision_model.", "[mlx] sam_model.|model.sam_model.",
              "[mlx] projector.|model.projector.", "[mlx] image_|model.image_", "[mlx] view_|model.view_"},
    .groups = {{.gguf = "v.blk.#.", .source = "transformer.layers.#.|encoder.layers.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.gguf = "v.sam.blk.#.", .source = "blocks.#.", .rows = sam_layer, .root = 1, .count = "Ls"},
               {.rows = sam_outside, .root = 1},
               {.rows = projector, .root = 2},
               {.rows = newline, .root = 3},
               {.rows = separator, .root = 4}},
    .token_members = "image_token_index=<image>",
    .text_object = "language_config|.",
};
MU_PROJECTOR(deepseekocr);

}  // namespace modelutils::arch::towers::deepseekocr
