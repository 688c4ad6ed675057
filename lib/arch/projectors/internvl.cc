// InternVL 1.5 to 3: fused attention with scales per layer, a pixel shuffle, and a projector.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::internvl {

static std::optional<u64> shuffle(const hf::Config& config, const Sizes& /*sizes*/) {
  return inverse_of(config.number_field("downsample_ratio").value_or(0.5));
}
static std::optional<u64> has_biases(const hf::Config& config, const Sizes& /*sizes*/) {
  return config.bool_field("vision_config.qkv_bias").value_or(true) ? 1 : 0;
}
static std::optional<u64> has_norms(const hf::Config& config, const Sizes& /*sizes*/) {
  return config.bool_field("vision_config.qk_normalization").value_or(false) ? 1 : 0;
}
static std::optional<u64> has_rms(const hf::Config& config, const Sizes& /*sizes*/) {
  return config.string_field("vision_config.norm_type").value_or("layer_norm") == "rms_norm" ? 1 : 0;
}

static Status check_shuffle(KeyWriter& out) {
  return check_ratio(out, "downsample_ratio");
}

static Status describe(ConfigWriter& out) {
  const u64 factor = std::max<u64>(out.size("S"), 1);
  out.set("downsample_ratio", 1.0 / static_cast<double>(factor));
  out.set("vision_config.architectures", hf::config_list(std::vector<std::string>{"InternVisionModel"}));
  out.set("vision_config.qkv_bias", out.size("Bq") != 0);
  out.set("vision_config.qk_normalization", out.size("Nq") != 0);
  out.set("vision_config.norm_type", out.size("Rms") != 0 ? "rms_norm" : "layer_norm");
  return {};
}

constexpr Key more[] = {
    vision_epsilon(layer_norm_eps, "1e-6"),
    by_activation("gelu"),
    {.name = "vision.projector.scale_factor",
     .symbol = "S",
     .fallback = "2",
     .missing = Missing::assume,
     .derive = shuffle},
    {.name = "vision.preproc_min_tiles", .fields = "min_dynamic_patch", .write = write_if_positive},
    {.name = "vision.preproc_max_tiles", .fields = "max_dynamic_patch", .write = write_if_positive},
    derived_size("Bq", has_biases),
    derived_size("Nq", has_norms),
    derived_size("Rms", has_rms),
};
constexpr Tensor when(Tensor row, ConditionText condition) {
  row.when = condition;
  return row;
}
constexpr Tensor layer[] = {
    when(norm("ln1", "E", "norm1"), "!Rms"),
    when(norm("ln2", "E", "norm2"), "!Rms"),
    when(norm("ln1", "E", "norm1", Need::absent), "Rms"),
    when(norm("ln2", "E", "norm2", Need::absent), "Rms"),
    when(linear("attn_q", "E,E", "attn.qkv{t:3 r:E -> t=0 r}"), "Bq"),
    when(linear("attn_k", "E,E", "attn.qkv{t:3 r:E -> t=1 r}"), "Bq"),
    when(linear("attn_v", "E,E", "attn.qkv{t:3 r:E -> t=2 r}"), "Bq"),
    when(linear("attn_q", "E,E", "attn.qkv{t:3 r:E -> t=0 r}", Need::absent), "!Bq"),
    when(linear("attn_k", "E,E", "attn.qkv{t:3 r:E -> t=1 r}", Need::absent), "!Bq"),
    when(linear("attn_v", "E,E", "attn.qkv{t:3 r:E -> t=2 r}", Need::absent), "!Bq"),
    linear("attn_out", "E,E", "attn.proj"),
    when(norm("attn_q_norm", "E", "attn.q_norm", Need::absent), "Nq"),
    when(norm("attn_k_norm", "E", "attn.k_norm", Need::absent), "Nq"),
    linear("ffn_up", "E,F", "mlp.fc1"),
    linear("ffn_down", "F,E", "mlp.fc2"),
    table("@ls1.weight", "E", "ls1"),
    table("@ls2.weight", "E", "ls2"),
};
constexpr Tensor outside[] = {
    table("@v.class_embd", "E,1,1", "embeddings.class_embedding"),
    kernel("v.patch_embd", "P,P,3,E", patch_of_siglip, stored_patch, Need::required),
    table("@v.position_embd.weight", "E,I/P*(I/P)+1,1", "embeddings.position_embedding"),
};
constexpr Tensor projector[] = {
    norm("mm.model.mlp.0", "E*S*S", "0"),
    linear("mm.model.mlp.1", "E*S*S,A", "1"),
    linear("mm.model.mlp.3", "A,T", "3"),
};

constexpr ProjectorFamily internvl = {
    .rows = {.name = "internvl",
             .gguf = "clip",
             .classes = "InternVLChatModel|InternVisionModel",
             .model_types = {},
             .keys = {vision_keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_vision_heads},
             .checks = {check_shuffle},
             .config = {.fields = usual_fields,
                        .members = {{"vision_config.model_type", "intern_vit_6b"},
                                    {"vision_config.num_channels", "3"},
                                    {"force_image_size", "=I"},
                                    {"dynamic_image_size", "true"},
                                    {"use_thumbnail", "true"},
                                    {"select_layer", "-1"},
                                    {"ps_version", "v2"}},
                        .describe = describe,
                        .model_type = "internvl_chat",
                        .hf_text_prefix = "language_model.model."}},
    .encoder = "vision",
    .roots = {"vision_model.|model.vision_model.", "mlp1.|model.mlp1."},
    .groups = {{.gguf = "v.blk.#.", .source = "encoder.layers.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .token_members = "image_token_index=<IMG_CONTEXT>",
    .text_object = "llm_config",
};
MU_PROJECTOR(internvl);

}  // namespace modelutils::arch::towers::internvl
