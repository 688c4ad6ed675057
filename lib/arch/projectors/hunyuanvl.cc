// HunYuan-VL and HunYuan-OCR: a position table whose first row is unused, and two convolutions that merge patches.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::hunyuanvl {

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = "vision_config.image_size|vision_config.max_image_size";
  named(rows, "vision.image_size").fallback = "2048";
  return rows;
}();
constexpr Key more[] = {
    use_gelu,
    vision_epsilon("vision_config.rms_norm_eps", "1e-5"),
    size_key("vision.spatial_merge_size", merge_size, "M", "2"),
};
constexpr Tensor layer[] = {
    norm("ln1", "E", "input_layernorm"),          norm("ln2", "E", "post_attention_layernorm"),
    linear("attn_q", "E,E", "self_attn.q_proj"),  linear("attn_k", "E,E", "self_attn.k_proj"),
    linear("attn_v", "E,E", "self_attn.v_proj"),  linear("attn_out", "E,E", "self_attn.o_proj"),
    linear("ffn_up", "E,F", "mlp.dense_h_to_4h"), linear("ffn_down", "F,E", "mlp.dense_4h_to_h"),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E", patch_of_siglip, stored_patch, Need::required),
    table("v.position_embd", "E,I/P*(I/P)", "embeddings.position_embedding{r:I/P*(I/P)+1 -> r[1:I/P*(I/P)+1]}"),
    kernel("mm.0", "M,M,E,A", "[mlx] perceive.proj.0{{o:A y:M x:M c:E -> o c y x}} | perceive.proj.0",
           "[mlx] A,M,M,E | A,E,M,M", Need::required),
    kernel("mm.2", "1,1,A,C", "perceive.proj.2", "[mlx] C,1,1,A | C,A,1,1", Need::required),
    linear("mm.model.fc", "C,T", "perceive.mlp"),
    norm("mm.pre_norm", "E", "perceive.before_rms", Need::absent),
    norm("mm.post_norm", "T", "perceive.after_rms", Need::absent),
    table("@v.image_newline", "C", "perceive.image_newline"),
    table("@v.view_seperator", "T", "perceive.image_sep", Need::optional),
    table("@mm.image_begin", "T", "perceive.image_begin"),
    table("@mm.image_end", "T", "perceive.image_end"),
};

constexpr ProjectorFamily hunyuanvl = {
    .rows = {.name = "hunyuanvl",
             .gguf = "clip",
             .classes = "HunYuanVLForConditionalGeneration|HunYuanVLV1ForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more, pixel_limit_keys},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_gelu()},
             .relations = {whole_vision_heads},
             .config = {.fields = "vision_config.num_hidden_layers|vision_config.num_attention_heads|"
                                  "vision_config.hidden_size|vision_config.intermediate_size|"
                                  "vision_config.max_image_size",
                        .members = {{"vision_config.model_type", "hunyuan_vl"},
                                    {"vision_config.out_hidden_size", "=T"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.add_patchemb_bias", "true"},
                                    {"vision_config.cat_extra_token", "1"},
                                    {"vision_config.interpolate_mode", "bilinear"}},
                        .model_type = "hunyuan_vl",
                        .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.|vit.|model.vit."},
    .groups = {{.gguf = "v.blk.#.", .source = "layers.#.", .rows = layer, .count = "L"}, {.rows = outside}},
    .text_object = top_level,
};
MU_PROJECTOR(hunyuanvl);

}  // namespace modelutils::arch::towers::hunyuanvl
