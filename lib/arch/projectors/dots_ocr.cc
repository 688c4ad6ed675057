// dots.ocr: RMS norms, no biases in the layers, gates, and a merger of four patches.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::dots_ocr {

static Status describe(ConfigWriter& out) {
  out.set("vision_config.use_bias", out.has_tensor("v.blk.0.attn_qkv.bias"));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.image_size").fields = {};
  named(rows, "vision.image_size").fallback = "0";
  named(rows, "vision.image_size").missing = Missing::assume;
  named(rows, "vision.embedding_length").fields = "vision_config.hidden_size|vision_config.embed_dim";
  return rows;
}();
constexpr Key more[] = {
    size_key("vision.projector.scale_factor", merge_size, "M", "2"),
    use_silu,
    vision_epsilon("vision_config.rms_norm_eps", "1e-5"),
};
constexpr Tensor layer[] = {
    norm("ln1", "E", "norm1", Need::absent),
    norm("ln2", "E", "norm2", Need::absent),
    linear("attn_qkv", "E,3*E", "attn.qkv", Need::optional),
    linear("attn_out", "E,E", "attn.proj", Need::optional),
    linear("ffn_gate", "E,F", "mlp.fc1", Need::optional),
    linear("ffn_up", "E,F", "mlp.fc3", Need::optional),
    linear("ffn_down", "F,E", "mlp.fc2", Need::optional),
};
constexpr Tensor outside[] = {
    kernel("v.patch_embd", "P,P,3,E",
           "[mlx] patch_embed.patchifier.proj{{o:E y:P x:P c:3 -> o c y x}} | patch_embed.patchifier.proj",
           stored_patch, Need::required),
    norm("v.pre_ln", "E", "patch_embed.patchifier.norm", Need::absent),
    norm("mm.post_norm", "E", "post_trunk_norm", Need::absent),
    norm("mm.input_norm", "E", "merger.ln_q"),
    linear("mm.0", "E*M*M,A", "merger.mlp.0"),
    linear("mm.2", "A,T", "merger.mlp.2"),
};

constexpr ProjectorFamily dots_ocr = {
    .rows = {.name = "dots_ocr",
             .gguf = "clip",
             .classes = "DotsOCRForCausalLM",
             .model_types = {},
             .keys = {keys, pixel_limit_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .fixed = {only_silu()},
             .relations = {whole_vision_heads},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "dots_vit"},
                                    {"vision_config.embed_dim", "=E"},
                                    {"vision_config.num_channels", "3"},
                                    {"vision_config.temporal_patch_size", "1"},
                                    {"vision_config.post_norm", "true"}},
                        .describe = describe,
                        .model_type = "dots_ocr",
                        // mlx-vlm has the head inside the model.
                        .mlx_text_prefix = "language_model.model.|language_model.model.",
                        .hf_text_prefix = "model."}},
    .encoder = "vision",
    .roots = {"vision_tower.|model.vision_tower."},
    .groups = {blocks(layer), {.rows = outside}},
    .token_members = "image_token_id=<|imgpad|>|video_token_id=<|video_pad|>",
    .text_object = top_level,
};
MU_PROJECTOR(dots_ocr);

}  // namespace modelutils::arch::towers::dots_ocr
