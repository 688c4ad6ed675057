// GLM-4V and GLM-OCR: RMS norms, gates, a convolution that merges patches, and a gated projector.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::glm4v {

static std::optional<u64> is_ocr(const hf::Config& config, const Sizes& /*sizes*/) {
  return config.string_field("model_type").value_or("").starts_with("glm_ocr") ||
                 config.architecture.starts_with("GlmOcr")
             ? 1
             : 0;
}

static Status describe(ConfigWriter& out) {
  const bool of_ocr = out.size("Ocr") != 0;
  if (of_ocr) {
    set_identity(out, "GlmOcrForConditionalGeneration", "glm_ocr");
    out.set("text_config.model_type", "glm_ocr_text");
  }
  out.set("vision_config.model_type", of_ocr ? "glm_ocr" : "glm4v");
  out.set("vision_config.attention_bias", out.has_tensor("v.blk.0.attn_qkv.bias"));
  return {};
}

constexpr auto keys = [] {
  auto rows = vision_keys;
  named(rows, "vision.feed_forward_length").symbol = {};  // the projector's width, not the blocks'
  return rows;
}();
constexpr Key more[] = {
    by_activation("silu"),
    vision_epsilon("vision_config.rms_norm_eps", "1e-5"),
    unwritten_size(merge_size, "M", "2"),
    derived_size("Ocr", is_ocr),
};
constexpr Tensor when(Tensor row, ConditionText condition) {
  row.when = condition;
  return row;
}
constexpr Tensor layer[] = {
    norm("ln1", "E", "norm1", Need::absent),
    norm("ln2", "E", "norm2", Need::absent),
    linear("attn_qkv", "E,3*E", "attn.qkv", Need::optional),
    linear("attn_out", "E,E", "attn.proj", Need::optional),
    when(norm("attn_q_norm", "E/H", "attn.q_norm", Need::absent), "Ocr"),
    when(norm("attn_k_norm", "E/H", "attn.k_norm", Need::absent), "Ocr"),
    linear("ffn_gate", "E,G", "mlp.gate_proj", Need::optional),
    linear("ffn_up", "E,G", "mlp.up_proj", Need::optional),
    linear("ffn_down", "G,E", "mlp.down_proj", Need::optional),
};
constexpr std::array<Tensor, 9> own = {{
    when(norm("v.norm_embd", "E", "post_conv_layernorm", Need::absent), "!Ocr"),
    when(table("v.position_embd", "E,I/P*(I/P)", "embeddings.position_embedding"), "!Ocr"),
    norm("v.post_ln", "E", "post_layernorm", Need::absent),
    kernel("mm.patch_merger", "M,M,E,T", "[mlx] downsample{{o:T y:M x:M c:E -> o c y x}} | downsample",
           "[mlx] T,M,M,E | T,E,M,M", Need::required),
    linear("mm.model.fc", "T,T", "merger.proj", Need::absent),
    norm("mm.post_norm", "T", "merger.post_projection_norm"),
    linear("mm.gate", "T,C", "merger.gate_proj", Need::absent),
    linear("mm.up", "T,C", "merger.up_proj", Need::absent),
    linear("mm.down", "C,T", "merger.down_proj", Need::absent),
}};
constexpr auto outside = joined(patch_of_two, patch_bias, own);

constexpr ProjectorFamily glm4v = {
    .rows = {.name = "glm4v",
             .gguf = "clip",
             .classes = "Glm4vForConditionalGeneration|Glm4vMoeForConditionalGeneration|GlmOcrForConditionalGeneration",
             .model_types = {},
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_vision_heads},
             .config = {.fields = "vision_config.depth|vision_config.num_heads|vision_config.hidden_size",
                        .members = {{"vision_config.out_hidden_size", "=T"},
                                    {"vision_config.spatial_merge_size", "=M"},
                                    {"vision_config.temporal_patch_size", "2"},
                                    {"vision_config.in_channels", "3"}},
                        .describe = describe,
                        .model_type = "glm4v",
                        .text_model_type = "glm4v_text"}},
    .encoder = "vision",
    .roots = {"[mlx] vision_tower.|model.visual.|visual.|model.vision_tower."},
    .groups = {blocks(layer), {.rows = outside}},
};
MU_PROJECTOR(glm4v);

}  // namespace modelutils::arch::towers::glm4v
