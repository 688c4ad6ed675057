// Rows that several projectors share: keys of both encoders, layers of the usual kinds, convolution kernels.
//
// Symbols: L layers, E width of the tower, H heads, F width of its feed-forward part, I side of an image, P side of a
// patch, N positions, M patches merged per side, T width of the text model, Mb mel bins.
#pragma once

#include <array>
#include <string_view>

#include "arch/common_tensors.h"
#include "arch/config_writer.h"
#include "arch/projector_family.h"

namespace modelutils::arch {

// The condition of keys that are never written.
inline constexpr ConditionText never = "0";

inline constexpr std::string_view text_width = "text_config.hidden_size|text_config.n_embd";

/// Writes image_mean or image_std from its field. Error "convert-config": fewer than three finite numbers, or a 0 in
/// image_std.
Status write_image_values(KeyWriter& out, const Key& key);
/// Writes the period of the blocks with full attention from their indices. Error "convert-config": the indices are not
/// periodic.
Status write_window_pattern(KeyWriter& out, const Key& key);
/// Writes clip.use_gelu or clip.use_silu, according to the activation in the key's field, or to the fallback if the
/// field is missing. Error "convert-config": another activation.
Status write_activation(KeyWriter& out, const Key& key);
/// Writes the image sides, in tiles, that are greater than 0.
Status write_if_positive(KeyWriter& out, const Key& key);
/// Writes the pooling factor of a projector whose config.json states the image side in tokens, unless it is the
/// runtime's default.
Status write_pooling(KeyWriter& out, const Key& key);

/// The inverses, which write config.json and preprocessor_config.json.
Status read_image_values(ConfigWriter& out, const Key& key);
Status read_window_pattern(ConfigWriter& out, const Key& key);
Status read_activation(ConfigWriter& out, const Key& key);
Status read_pooling(ConfigWriter& out, const Key& key);
/// For keys that are computed from their fields.
Status read_nothing(ConfigWriter& out, const Key& key);

/// The field names used by most vision towers.
inline constexpr std::string_view usual_fields =
    "vision_config.num_hidden_layers|vision_config.num_attention_heads|vision_config.hidden_size|"
    "vision_config.intermediate_size";

/// The number of layers up to vision_feature_layer, which counts from the last one (-1).
std::optional<u64> layers_to_feature(const hf::Config& config, i64 class_default);
/// Returns the inverse of `ratio`, rounded down; 0 if `ratio` is not between 1/1024 and 1.
u64 inverse_of(double ratio);
/// Error "convert-config": the field is stated, but not as a ratio that inverse_of() accepts.
Status check_ratio(KeyWriter& out, std::string_view field);

inline constexpr std::array<Key, 9> vision_keys = {{
    {.name = "vision.projection_dim",
     .fields = text_width,
     .symbol = "T",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.image_size",
     .fields = "vision_config.image_size",
     .symbol = "I",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.patch_size",
     .fields = "vision_config.patch_size",
     .symbol = "P",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.embedding_length",
     .fields = "vision_config.hidden_size|vision_config.width|vision_config.vt_hidden_size",
     .symbol = "E",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.feed_forward_length",
     .fields = "vision_config.intermediate_size|vision_config.vt_intermediate_size",
     .symbol = "F",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.block_count",
     .fields = "vision_config.n_layers|vision_config.num_hidden_layers|vision_config.n_layer|vision_config.num_layers|"
               "vision_config.depth|vision_config.layers|vision_config.vt_num_hidden_layers",
     .symbol = "L",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.attention.head_count",
     .fields = "vision_config.num_attention_heads|vision_config.num_heads|vision_config.heads|"
               "vision_config.vt_num_attention_heads",
     .symbol = "H",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "vision.image_mean",
     .type = KeyType::f32_list,
     .fields = "preprocessor_config.image_mean",
     .need = Need::required,
     .write = write_image_values,
     .read = read_image_values},
    {.name = "vision.image_std",
     .type = KeyType::f32_list,
     .fields = "preprocessor_config.image_std",
     .need = Need::required,
     .write = write_image_values,
     .read = read_image_values},
}};

inline constexpr std::array<Key, 6> audio_keys = {{
    {.name = "audio.projection_dim",
     .fields = text_width,
     .symbol = "T",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "audio.embedding_length",
     .fields = "audio_config.hidden_size|audio_config.width|audio_config.d_model",
     .symbol = "E",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "audio.feed_forward_length",
     .fields = "audio_config.intermediate_size|audio_config.encoder_ffn_dim",
     .symbol = "F",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "audio.block_count",
     .fields = "audio_config.n_layers|audio_config.num_hidden_layers|audio_config.n_layer|audio_config.num_layers|"
               "audio_config.depth|audio_config.layers|audio_config.encoder_layers",
     .symbol = "L",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "audio.attention.head_count",
     .fields = "audio_config.num_attention_heads|audio_config.num_heads|audio_config.heads|"
               "audio_config.encoder_attention_heads",
     .symbol = "H",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "audio.num_mel_bins",
     .fields = "audio_config.num_mel_bins|audio_config.feat_in",
     .symbol = "Mb",
     .missing = Missing::refuse,
     .need = Need::required},
}};

/// The key of the norms' epsilon.
constexpr Key epsilon_key(std::string_view name, std::string_view fields, std::string_view fallback) {
  return {.name = name,
          .type = KeyType::f32,
          .fields = fields,
          .fallback = fallback,
          .missing = Missing::assume,
          .need = Need::required};
}
constexpr Key vision_epsilon(std::string_view fields, std::string_view fallback) {
  return epsilon_key("vision.attention.layer_norm_epsilon", fields, fallback);
}
constexpr Key audio_epsilon(std::string_view fallback) {
  return epsilon_key("audio.attention.layer_norm_epsilon", {}, fallback);
}
inline constexpr std::string_view layer_norm_eps = "vision_config.layer_norm_eps";

/// Keys that are always the same: clip.use_gelu, clip.use_silu, and numbers.
constexpr Key flag_key(std::string_view name, std::string_view value = "true") {
  return {.name = name, .type = KeyType::flag, .fallback = value, .missing = Missing::assume};
}
inline constexpr Key use_gelu = flag_key("use_gelu");
inline constexpr Key use_silu = flag_key("use_silu");
/// Writes one of the two keys, depending on the field.
constexpr Key by_activation(std::string_view class_default) {
  return {.name = "use_gelu",
          .type = KeyType::flag,
          .fields = "vision_config.hidden_act",
          .fallback = class_default,
          .write = write_activation,
          .read = read_activation};
}

/// A number in config.json that is also a size, and its key. unwritten_size() has no key.
constexpr Key size_key(std::string_view name, std::string_view fields, std::string_view symbol,
                       std::string_view fallback = {}) {
  return {.name = name,
          .fields = fields,
          .symbol = symbol,
          .fallback = fallback,
          .missing = fallback.empty() ? Missing::refuse : Missing::assume};
}
constexpr Key unwritten_size(std::string_view fields, std::string_view symbol, std::string_view fallback = {}) {
  Key key = size_key({}, fields, symbol, fallback);
  key.when = never;
  return key;
}
constexpr Key derived_size(std::string_view symbol, std::optional<u64> (*derive)(const hf::Config&, const Sizes&)) {
  Key key = unwritten_size({}, symbol, "0");
  key.derive = derive;
  return key;
}
inline constexpr std::string_view merge_size = "vision_config.spatial_merge_size";

/// The minimum and maximum image size in pixels.
inline constexpr std::string_view least_pixels =
    "preprocessor_config.min_pixels|preprocessor_config.size.shortest_edge|preprocessor_config.size.min_pixels";
inline constexpr std::string_view most_pixels =
    "preprocessor_config.max_pixels|preprocessor_config.size.longest_edge|preprocessor_config.size.max_pixels";
inline constexpr std::array<Key, 2> pixel_limit_keys = {{
    {.name = "vision.image_min_pixels", .fields = least_pixels, .missing = Missing::refuse},
    {.name = "vision.image_max_pixels", .fields = most_pixels, .missing = Missing::refuse},
}};

/// Hugging Face's names of the activations.
inline constexpr std::string_view gelu_names =
    "gelu_pytorch_tanh|gelu|gelu_new|gelu_fast|gelu_tanh|gelu_accurate|gelu_python";
inline constexpr std::string_view silu_names = "silu|swish";
constexpr Fixed only_gelu(std::string_view field = "vision_config.hidden_act") {
  return {field, gelu_names, Severity::error, "llama.cpp computes GELU for this projector"};
}
constexpr Fixed only_silu(std::string_view field = "vision_config.hidden_act") {
  return {field, silu_names, Severity::error, "llama.cpp computes SiLU for this projector"};
}
constexpr Fixed only_quick_gelu(std::string_view field = "vision_config.hidden_act") {
  return {field, "quick_gelu", Severity::error, "llama.cpp computes quick GELU for this projector"};
}
/// The width is divided equally among the heads.
inline constexpr Relation whole_vision_heads = {"E%H", "0",
                                                "vision_config.num_attention_heads|vision_config.num_heads|"
                                                "vision_config.heads|vision_config.vt_num_attention_heads",
                                                "does not divide the width of the vision tower"};
inline constexpr Relation whole_audio_heads = {
    "E%H", "0", "audio_config.num_attention_heads|audio_config.num_heads|audio_config.encoder_attention_heads",
    "does not divide the width of the audio tower"};

// Rows: a matrix with its bias, a matrix without bias, a norm with weight and bias.

constexpr Tensor linear(std::string_view name, ShapeText ne, SourceText source, Need bias = Need::required) {
  return {.name = name, .ne = ne, .source = source, .bias = bias};
}
constexpr Tensor norm(std::string_view name, ShapeText ne, SourceText source, Need bias = Need::required) {
  return {.name = name, .ne = ne, .source = source, .bias = bias, .f32 = true};
}
/// A table or a vector that stays F32.
constexpr Tensor table(std::string_view name, ShapeText ne, SourceText source, Need need = Need::required,
                       StoredText stored = {}) {
  return {.name = name, .ne = ne, .source = source, .need = need, .f32 = true, .stored = stored};
}
/// A convolution. MLX stores its channels last.
constexpr Tensor kernel(std::string_view name, ShapeText ne, SourceText source, StoredText stored,
                        Need bias = Need::absent) {
  return {.name = name, .ne = ne, .source = source, .bias = bias, .plain = plain_kernel, .stored = stored};
}

/// Vision towers of SigLIP and CLIP.
inline constexpr std::array<Tensor, 8> siglip_layer = {{
    norm("ln1", "E", "layer_norm1"),
    norm("ln2", "E", "layer_norm2"),
    linear("attn_q", "E,E", "self_attn.q_proj"),
    linear("attn_k", "E,E", "self_attn.k_proj"),
    linear("attn_v", "E,E", "self_attn.v_proj"),
    linear("attn_out", "E,E", "self_attn.out_proj"),
    linear("ffn_up", "E,F", "mlp.fc1"),
    linear("ffn_down", "F,E", "mlp.fc2"),
}};
inline constexpr std::string_view patch_of_siglip =
    "[mlx] embeddings.patch_embedding{{o:E y:P x:P c:3 -> o c y x}} | embeddings.patch_embedding";
inline constexpr std::string_view stored_patch = "[mlx] E,P,P,3 | E,3,P,P";
inline constexpr std::array<Tensor, 3> siglip_outside = {{
    kernel("v.patch_embd", "P,P,3,E", patch_of_siglip, stored_patch, Need::required),
    table("v.position_embd", "E,I/P*(I/P)", "embeddings.position_embedding"),
    norm("v.post_ln", "E", "post_layernorm"),
}};
constexpr ProjectorGroup siglip_layers(std::span<const Tensor> rows = siglip_layer) {
  return {.gguf = "v.blk.#.", .source = "encoder.layers.#.", .rows = rows, .count = "L"};
}

/// A kernel over two consecutive pictures: its two slices.
inline constexpr std::array<Tensor, 2> patch_of_two = {{
    kernel("@v.patch_embd.weight", "P,P,3,E",
           "[mlx] patch_embed.proj.weight{{o:E t:2 y:P x:P c:3 -> o c t=0 y x}} | "
           "patch_embed.proj.weight{{o:E c:3 t:2 y:P x:P -> o c t=0 y x}}",
           "[mlx] E,2,P,P,3 | E,3,2,P,P"),
    kernel("@v.patch_embd.weight.1", "P,P,3,E",
           "[mlx] patch_embed.proj.weight{{o:E t:2 y:P x:P c:3 -> o c t=1 y x}} | "
           "patch_embed.proj.weight{{o:E c:3 t:2 y:P x:P -> o c t=1 y x}}",
           "[mlx] E,2,P,P,3 | E,3,2,P,P"),
}};
inline constexpr std::array<Tensor, 1> patch_bias = {{table("@v.patch_embd.bias", "E", "patch_embed.proj.bias")}};

/// Queries, keys and values of Qwen2-VL and Qwen2.5-VL, which the runtime reads as three tensors.
inline constexpr std::array<Tensor, 4> qwen_attention = {{
    linear("attn_q", "E,E", "attn.qkv{t:3 r:E -> t=0 r} | attn.q"),
    linear("attn_k", "E,E", "attn.qkv{t:3 r:E -> t=1 r} | attn.k"),
    linear("attn_v", "E,E", "attn.qkv{t:3 r:E -> t=2 r} | attn.v"),
    linear("attn_out", "E,E", "attn.proj"),
}};
inline constexpr std::array<Tensor, 2> fused_attention = {{
    linear("attn_qkv", "E,3*E", "attn.qkv"),
    linear("attn_out", "E,E", "attn.proj"),
}};
inline constexpr std::array<Tensor, 2> norms_of_blocks = {{norm("ln1", "E", "norm1"), norm("ln2", "E", "norm2")}};
inline constexpr std::array<Tensor, 2> rms_norms_of_blocks = {
    {norm("ln1", "E", "norm1", Need::absent), norm("ln2", "E", "norm2", Need::absent)}};
inline constexpr std::array<Tensor, 3> gated_blocks = {{
    linear("ffn_gate", "E,F", "mlp.gate_proj"),
    linear("ffn_up", "E,F", "mlp.up_proj"),
    linear("ffn_down", "F,E", "mlp.down_proj"),
}};
inline constexpr std::array<Tensor, 2> merger_of_qwen2 = {{
    linear("mm.0", "E*M*M,E*M*M", "merger.mlp.0"),
    linear("mm.2", "E*M*M,T", "merger.mlp.2"),
}};
constexpr ProjectorGroup blocks(std::span<const Tensor> rows) {
  return {.gguf = "v.blk.#.", .source = "blocks.#.", .rows = rows, .count = "L"};
}

/// Layers of Pixtral. Directories rotate queries and keys by halves, GGUFs by adjacent pairs.
inline constexpr std::array<Tensor, 9> pixtral_layer = {{
    norm("ln1", "E", "attention_norm", Need::absent),
    norm("ln2", "E", "ffn_norm", Need::absent),
    linear("attn_q", "E,E", "attention.q_proj{H t:2 j:E/H/2 -> H j t}", Need::absent),
    linear("attn_k", "E,E", "attention.k_proj{H t:2 j:E/H/2 -> H j t}", Need::absent),
    linear("attn_v", "E,E", "attention.v_proj", Need::absent),
    linear("attn_out", "E,E", "attention.o_proj", Need::absent),
    linear("ffn_gate", "E,F", "feed_forward.gate_proj", Need::absent),
    linear("ffn_up", "E,F", "feed_forward.up_proj", Need::absent),
    linear("ffn_down", "F,E", "feed_forward.down_proj", Need::absent),
}};
inline constexpr std::array<Tensor, 2> pixtral_outside = {{
    kernel("v.patch_embd", "P,P,3,E", "[mlx] patch_conv{{o:E y:P x:P c:3 -> o c y x}} | patch_conv", stored_patch),
    norm("v.pre_ln", "E", "ln_pre", Need::absent),
}};
inline constexpr std::array<Tensor, 4> pixtral_projector = {{
    {.name = "mm.input_norm", .ne = "E", .source = "norm", .when = "M>=2", .f32 = true},
    {.name = "mm.patch_merger",
     .ne = "E*M*M,E",
     .source = "patch_merger.merging_layer",
     .when = "M>=2",
     .plain = plain_kernel},
    linear("mm.1", "E,A", "linear_1", Need::optional),
    linear("mm.2", "A,T", "linear_2", Need::optional),
}};

/// Audio towers of Whisper.
inline constexpr std::array<Tensor, 8> whisper_layer = {{
    norm("ln1", "E", "self_attn_layer_norm"),
    norm("ln2", "E", "final_layer_norm"),
    linear("attn_q", "E,E", "self_attn.q_proj"),
    linear("attn_k", "E,E", "self_attn.k_proj", Need::optional),
    linear("attn_v", "E,E", "self_attn.v_proj"),
    linear("attn_out", "E,E", "self_attn.out_proj"),
    linear("ffn_up", "E,F", "fc1"),
    linear("ffn_down", "F,E", "fc2"),
}};
inline constexpr std::array<Tensor, 4> whisper_kernels = {{
    kernel("a.conv1d.1", "3,Mb,E", "[mlx] conv1{{o:E x:3 c:Mb -> o c x}} | conv1", "[mlx] E,3,Mb | E,Mb,3"),
    table("@a.conv1d.1.bias", "1,E", "conv1.bias"),
    kernel("a.conv1d.2", "3,E,E", "[mlx] conv2{{o:E x:3 c:E -> o c x}} | conv2", "[mlx] E,3,E | E,E,3"),
    table("@a.conv1d.2.bias", "1,E", "conv2.bias"),
}};
inline constexpr std::array<Tensor, 2> whisper_ends = {{
    table("a.position_embd", "E,N", "embed_positions"),
    norm("a.post_ln", "E", "layer_norm"),
}};
constexpr ProjectorGroup whisper_layers(std::span<const Tensor> rows = whisper_layer) {
  return {.gguf = "a.blk.#.", .source = "layers.#.", .rows = rows, .count = "L"};
}

/// A matrix with limits for its input and output values.
#define MU_CLIPPED(name, ne, module)                                            \
  linear(name, ne, module ".linear | " module, Need::absent),                   \
      table("@" name ".input_min", "1", module ".input_min", Need::optional),   \
      table("@" name ".input_max", "1", module ".input_max", Need::optional),   \
      table("@" name ".output_min", "1", module ".output_min", Need::optional), \
      table("@" name ".output_max", "1", module ".output_max", Need::optional)

/// The type used by default and for `--type`. The convolutions of some audio towers are also F32.
template <std::size_t N>
constexpr std::array<Tensor, N> all_f32(std::array<Tensor, N> rows) {
  for (Tensor& row : rows) row.f32 = true;
  return rows;
}

}  // namespace modelutils::arch
