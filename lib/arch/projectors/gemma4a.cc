// Gemma 4's audio tower: a conformer with two feed-forward parts per layer.
#include "arch/projectors/list.h"

namespace modelutils::arch::towers::gemma4a {

static bool has_tower(const hf::Config& config) {
  json::Object tower;
  const auto field = config.field("audio_config");
  return field && field->get(tower);
}
static std::optional<u64> four_widths(const hf::Config& /*config*/, const Sizes& sizes) {
  return checked_mul(sizes.get("E"), 4);
}

constexpr auto keys = [] {
  auto rows = audio_keys;
  named(rows, "audio.feed_forward_length").fields = {};
  named(rows, "audio.feed_forward_length").derive = four_widths;
  named(rows, "audio.num_mel_bins").fields = "audio_config.input_feat_size";
  named(rows, "audio.num_mel_bins").symbol = {};
  named(rows, "audio.num_mel_bins").fallback = "128";
  named(rows, "audio.num_mel_bins").missing = Missing::assume;
  return rows;
}();
constexpr Key more[] = {audio_epsilon("1e-5")};
constexpr Tensor layer[] = {
    norm("ffn_norm", "E", "feed_forward1.pre_layer_norm", Need::absent),
    norm("ffn_post_norm", "E", "feed_forward1.post_layer_norm", Need::absent),
    MU_CLIPPED("ffn_up", "E,F", "feed_forward1.ffw_layer_1"),
    MU_CLIPPED("ffn_down", "F,E", "feed_forward1.ffw_layer_2"),
    norm("ffn_norm_1", "E", "feed_forward2.pre_layer_norm", Need::absent),
    norm("ffn_post_norm_1", "E", "feed_forward2.post_layer_norm", Need::absent),
    MU_CLIPPED("ffn_up_1", "E,F", "feed_forward2.ffw_layer_1"),
    MU_CLIPPED("ffn_down_1", "F,E", "feed_forward2.ffw_layer_2"),
    norm("attn_pre_norm", "E", "norm_pre_attn", Need::absent),
    norm("attn_post_norm", "E", "norm_post_attn", Need::absent),
    norm("ln2", "E", "norm_out", Need::absent),
    MU_CLIPPED("attn_q", "E,E", "self_attn.q_proj"),
    MU_CLIPPED("attn_k", "E,E", "self_attn.k_proj"),
    MU_CLIPPED("attn_v", "E,E", "self_attn.v_proj"),
    MU_CLIPPED("attn_out", "E,E", "self_attn.post"),
    linear("attn_k_rel", "E,E", "self_attn.relative_k_proj", Need::absent),
    {.name = "@per_dim_scale.weight", .ne = "E/H", .source = "self_attn.per_dim_scale@softplus", .f32 = true},
    norm("conv_norm", "E", "lconv1d.pre_layer_norm", Need::absent),
    MU_CLIPPED("conv_pw1", "E,2*E", "lconv1d.linear_start"),
    table("conv_dw", "Kc,E", "lconv1d.depthwise_conv1d", Need::required, "[mlx] E,Kc,1 | E,1,Kc"),
    norm("norm_conv", "E", "lconv1d.conv_norm", Need::absent),
    MU_CLIPPED("conv_pw2", "E,E", "lconv1d.linear_end"),
};
constexpr Tensor f32_kernel(std::string_view name, ShapeText ne, SourceText source, StoredText stored) {
  Tensor row = kernel(name, ne, source, stored);
  row.f32 = true;
  return row;
}
constexpr Tensor outside[] = {
    f32_kernel("a.conv1d.0", "3,3,1,Ca", "subsample_conv_projection.layer0.conv", "[mlx] Ca,3,3,1 | Ca,1,3,3"),
    norm("a.conv1d.0.norm", "Ca", "subsample_conv_projection.layer0.norm", Need::optional),
    f32_kernel("a.conv1d.1", "3,3,Ca,Cb",
               "[mlx] subsample_conv_projection.layer1.conv{{o:Cb y:3 x:3 c:Ca -> o c y x}} | "
               "subsample_conv_projection.layer1.conv",
               "[mlx] Cb,3,3,Ca | Cb,Ca,3,3"),
    norm("a.conv1d.1.norm", "Cb", "subsample_conv_projection.layer1.norm", Need::optional),
    table("a.input_projection", "Ci,E", "subsample_conv_projection.input_proj_linear"),
    linear("a.pre_encode.out", "E,Eo", "output_proj", Need::optional),
};
constexpr Tensor projector[] = {linear("mm.a.input_projection", "Eo,T", "embedding_projection", Need::absent)};

constexpr ProjectorFamily gemma4a = {
    .rows = {.name = "gemma4a",
             .gguf = "clip",
             .classes = "Gemma4ForConditionalGeneration",
             .model_types = {},
             .fits = has_tower,
             .keys = {keys, more},
             .first_tensors = {},
             .last_tensors = {},
             .relations = {whole_audio_heads}},
    .encoder = "audio",
    .roots = {"[mlx] audio_tower.|model.audio_tower.", "[mlx] embed_audio.|model.embed_audio."},
    .groups = {{.gguf = "a.blk.#.", .source = "layers.#.", .rows = layer, .count = "L"},
               {.rows = outside},
               {.rows = projector, .root = 1}},
    .own_type_key = true,
};
MU_PROJECTOR(gemma4a);

}  // namespace modelutils::arch::towers::gemma4a
