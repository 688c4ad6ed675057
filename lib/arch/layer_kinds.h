// Kinds of layers: their types in config.json, sliding windows, and the rows of latent attention (MLA) and of
// state-space layers (Mamba and Mamba 2).
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/common_rows.h"
#include "arch/common_tensors.h"
#include "arch/config_writer.h"
#include "arch/family.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/hf/config.h"

namespace modelutils::hf {
struct Config;
}

namespace modelutils::arch {

/// Returns the integers of a list with one per layer. Empty if the field is not such a list.
std::vector<u64> counts_of_layers(const hf::Config& config, std::string_view field);

/// Returns the numbers of a list, with 0 for elements of other types. Empty if the field is not a list.
std::vector<double> numbers_of_layers(const hf::Config& config, std::string_view field);

/// Returns the kind of each layer from the first of the fields "a|b" that is present: the words of a list (["mamba",
/// "attention"]) or the letters of a string ("M-M*"). Empty if there is none.
std::vector<std::string> kinds_of_layers(const hf::Config& config, std::string_view fields);

/// Returns one number per layer: `value` in layers of one of the `wanted` kinds, 0 in the others.
std::vector<u64> in_layers(const std::vector<std::string>& kinds, std::initializer_list<std::string_view> wanted,
                           u64 value);

// Sliding windows: converts config.json's description of which layers have one to the runtime's.

/// Returns n if every n-th layer is global: as config.json states it, or as its layer types show (more than the layer
/// count if none is global). Returns `fallback` if it states neither.
u64 window_period(const KeyWriter& out, u64 fallback);

/// Writes a flag per layer from layer_types; nothing without that field. Error "convert-config": a wrong number of
/// layers, or a type other than sliding or full attention.
Status write_window_flags(KeyWriter& out, const Key& key);

/// Writes the period of global layers unless it is `usual`, the loader's default. Error "convert-config": the order is
/// not periodic.
Status write_window_period(KeyWriter& out, const Key& key, u64 usual);

/// Writes a flag per layer; every n-th layer is global, and n is `usual` if config.json does not state it. Errors:
/// those of write_window_flags().
Status write_window_flags_of_period(KeyWriter& out, const Key& key, u64 usual);

/// Removes the window's width and pattern from the written keys if no layer slides, since llama.cpp aborts on such
/// files. Error "convert-config": the architecture's loader requires windows.
Status leave_out_unused_window(KeyWriter& out);

/// Refuses layer types that differ from the periodic order, the only one that the runtime supports. Error
/// "convert-config".
Status check_window_order(const KeyWriter& out, u64 period);
/// check_window_order() as a family's check.
template <u64 period>
Status check_period(KeyWriter& out) {
  return check_window_order(out, period);
}

/// The key for write_window_period().
template <u64 usual>
Status write_period(KeyWriter& out, const Key& key) {
  return write_window_period(out, key, usual);
}
template <u64 usual>
inline constexpr Key window_pattern = {
    .name = "attention.sliding_window_pattern", .write = write_period<usual>, .read = read_windows};

/// The key for write_window_flags_of_period(), for architectures where llama.cpp's converter writes an array.
template <u64 usual>
Status write_flags(KeyWriter& out, const Key& key) {
  return write_window_flags_of_period(out, key, usual);
}
template <u64 usual>
inline constexpr Key window_flags = {.name = "attention.sliding_window_pattern",
                                     .type = KeyType::flag_layers,
                                     .write = write_flags<usual>,
                                     .read = read_windows};

/// The width of windows; `fallback` is the class's default.
constexpr Key sliding_window(std::string_view fallback, Missing missing, Need need = Need::optional) {
  return {.name = "attention.sliding_window",
          .fields = "sliding_window",
          .fallback = fallback,
          .missing = missing,
          .need = need};
}

// Latent attention (MLA): keys and values of all heads are computed from one vector of Rk elements, plus R rotated
// elements that all heads share. Runtimes fold that computation into queries and outputs, so the cache only holds that
// vector: one head of Rk + R elements. Symbols: Rq and Rk are the ranks of queries and of keys and values (Rq is 0 if
// queries have none), D the elements of a query or key head (of which R are rotated), Dv those of a value head.

/// Returns qk_nope_head_dim + qk_rope_head_dim; nullopt if either is absent.
std::optional<u64> mla_head(const hf::Config& config, const Sizes& sizes);
/// Writes yarn for these families. It has one magnitude A for the rotated parts of queries and keys (mscale), and the
/// square of another, B, for all scores (mscale_all_dim). llama.cpp multiplies the rotated parts by its attention
/// factor A, and all scores by the square of A (1 + 0.1 x ln(factor)), so the log multiplier x is chosen such that this
/// equals B². A multiplier of 0 makes llama.cpp use another attention factor. The key holds x / 10.
Status write_mla_rope_scaling(KeyWriter& out, const Key& key);

/// The ranks of queries, and of keys and values.
inline constexpr std::array<Key, 2> mla_ranks = {{
    {.name = "attention.q_lora_rank",
     .fields = "q_lora_rank",
     .symbol = "Rq",
     .fallback = "0",
     .when = "Rq",
     .loader_default = "0"},
    {.name = "attention.kv_lora_rank", .fields = "kv_lora_rank", .symbol = "Rk", .need = Need::required},
}};
/// llama.cpp recognises files with the layout used before 2025 by the absence of `latent_key`, whatever their sizes.
/// `old_latent` is 1 for such files (read_gguf_sizes()); they cache the computed keys and values of all heads.
inline constexpr std::string_view latent_key = "attention.key_length_mla", old_latent = "Old";
/// Sizes of the computed heads.
inline constexpr std::array<Key, 2> mla_heads = {{
    {.name = latent_key, .symbol = "D", .loader_default = "KL", .derive = mla_head},
    {.name = "attention.value_length_mla", .fields = "v_head_dim", .symbol = "Dv", .loader_default = "VL"},
}};

/// Returns `sizes` with the heads of latent attention.
constexpr std::array<Key, 14> mla_sizes(std::array<Key, 10> sizes) {
  named(sizes, "attention.head_count_kv") = {
      .name = "attention.head_count_kv", .symbol = "K", .fallback = "1", .loader_default = "H"};
  named(sizes, "attention.key_length") = {
      .name = "attention.key_length", .symbol = "KL", .fallback = "Rk+R", .need = Need::required};
  named(sizes, "attention.value_length") = {
      .name = "attention.value_length", .symbol = "VL", .fallback = "Rk", .loader_default = "E/H"};
  return joined(sizes, mla_ranks, mla_heads);
}

inline constexpr auto mla_rope_keys = [] {
  auto keys = rope_keys;
  named(keys, "rope.dimension_count") = {
      .name = "rope.dimension_count", .fields = "qk_rope_head_dim", .symbol = "R", .need = Need::required};
  named(keys, "rope.scaling.type").write = write_mla_rope_scaling;
  named(keys, "rope.scaling.type").read = read_mla_rope_scaling;
  return joined(keys, std::array{yarn_log_multiplier});
}();

/// The matrices that compute keys (transposed) and values: separate as in mlx-lm, or one matrix. Files written before
/// 2025 have that one matrix, and full-sized heads.
inline constexpr std::array<Tensor, 5> mla_tensors = {{
    {"attn_kv_a_mqa", "E,Rk+R", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "Rk", "self_attn.kv_a_layernorm"},
    {.name = "attn_k_b",
     .ne = "D-R,Rk,H",
     .source = "self_attn.embed_q | self_attn.kv_b_proj{{H s:D-R+Dv c:Rk -> H c s[0:D-R]}}",
     .when = "!Old",
     .stored = "[mlx] H,Rk,D-R | H*(D-R+Dv),Rk"},
    {.name = "attn_v_b",
     .ne = "Rk,Dv,H",
     .source = "self_attn.unembed_out | self_attn.kv_b_proj{H s:D-R+Dv -> H s[D-R:D-R+Dv]}",
     .when = "!Old"},
    {.name = "attn_kv_b", .ne = "Rk,H*(D-R+Dv)", .source = "self_attn.kv_b_proj", .when = "Old"},
}};

// Rows of state-space layers (Mamba and Mamba 2). Symbols: I inner width, S state size, Rt time step rank (in Mamba 2
// the head count), Kc convolution width, Gs groups (Mamba 2).

/// llama.cpp's converter writes this for models without a context limit.
inline constexpr std::string_view unlimited_context = "1048576";

inline constexpr Key endless_context = {
    .name = "context_length", .fallback = unlimited_context, .missing = Missing::assume, .need = Need::required};

/// Sizes of a model without attention. The loader still requires heads and a feed-forward width.
inline constexpr std::array<Key, 7> recurrent_sizes = {{
    {.name = "block_count", .fields = hf::fields::layers, .symbol = "L", .need = Need::required},
    endless_context,
    {.name = "embedding_length", .fields = hf::fields::width, .symbol = "E", .need = Need::required},
    {.name = "feed_forward_length", .fallback = "0", .missing = Missing::assume},
    {.name = "attention.head_count", .fallback = "0", .missing = Missing::assume, .need = Need::required},
    {.name = "attention.layer_norm_rms_epsilon",
     .type = KeyType::f32,
     .fields = "layer_norm_epsilon|rms_norm_eps",
     .fallback = "1e-5",
     .missing = Missing::assume,
     .need = Need::required},
    {.name = "vocab_size", .fields = "vocab_size", .symbol = "V", .loader_default = "0"},
}};

/// Returns the inner width from config.json: heads times their width, or else the expansion of the residual stream.
std::optional<u64> inner_width(const hf::Config& config, const Sizes& sizes);

inline constexpr std::array<Key, 4> mamba_keys = {{
    {.name = "ssm.conv_kernel", .fields = "conv_kernel|d_conv|mamba_d_conv", .symbol = "Kc", .need = Need::required},
    {.name = "ssm.inner_size",
     .symbol = "I",
     .missing = Missing::refuse,
     .need = Need::required,
     .derive = inner_width},
    {.name = "ssm.state_size",
     .fields = "ssm_state_size|state_size|d_state|mamba_d_state",
     .symbol = "S",
     .need = Need::required},
    {.name = "ssm.time_step_rank", .symbol = "Rt", .missing = Missing::refuse, .need = Need::required},
}};
inline constexpr std::array<Key, 1> mamba2_groups = {{
    {.name = "ssm.group_count",
     .fields = "n_groups|mamba_n_groups",
     .symbol = "Gs",
     .fallback = "1",
     .need = Need::required},
}};

/// A Mamba layer; `when` selects the layers.
constexpr std::array<Tensor, 7> mamba_layer(ConditionText when = {}) {
  return {{
      {.name = "ssm_in", .ne = "E,2*I", .source = "mixer.in_proj | mamba.in_proj", .when = when},
      {.name = "ssm_conv1d",
       .ne = "Kc,I",
       .source = "mixer.conv1d | mamba.conv1d",
       .bias = Need::required,
       .when = when,
       .f32 = true,
       .stored = "[mlx] I,Kc,1 | I,1,Kc"},
      {.name = "ssm_x", .ne = "I,Rt+2*S", .source = "mixer.x_proj | mamba.x_proj", .when = when},
      {.name = "ssm_dt", .ne = "Rt,I", .source = "mixer.dt_proj | mamba.dt_proj", .bias = Need::required, .when = when},
      {.name = "@ssm_a", .ne = "S,I", .source = "mixer.A_log@neg_exp | mamba.A_log@neg_exp", .when = when, .f32 = true},
      {.name = "@ssm_d", .ne = "I", .source = "mixer.D | mamba.D", .when = when},
      {.name = "ssm_out", .ne = "I,E", .source = "mixer.out_proj | mamba.out_proj", .when = when},
  }};
}

/// A Mamba 2 layer. The gated norm has one row per group.
constexpr std::array<Tensor, 7> mamba2_layer(ConditionText when = {}, Need norm = Need::required) {
  return {{
      {.name = "ssm_in", .ne = "E,2*I+2*Gs*S+Rt", .source = "mixer.in_proj | mamba.in_proj", .when = when},
      {.name = "ssm_conv1d",
       .ne = "Kc,I+2*Gs*S",
       .source = "mixer.conv1d | mamba.conv1d",
       .bias = Need::required,
       .when = when,
       .f32 = true,
       .stored = "[mlx] I+2*Gs*S,Kc,1 | I+2*Gs*S,1,Kc"},
      {.name = "@ssm_dt.bias", .ne = "Rt", .source = "mixer.dt_bias | mamba.dt_bias", .when = when},
      {.name = "@ssm_a",
       .ne = "1,Rt",
       .source = "mixer.A_log@neg_exp | mamba.A_log@neg_exp",
       .when = when,
       .f32 = true,
       .stored = "Rt"},
      {.name = "@ssm_d", .ne = "1,Rt", .source = "mixer.D | mamba.D", .when = when, .f32 = true, .stored = "Rt"},
      {.name = "ssm_norm",
       .ne = "I/Gs,Gs",
       .source = "mixer.norm{Gs d:I/Gs -> Gs d} | mamba.norm{Gs d:I/Gs -> Gs d}",
       .need = norm,
       .when = when,
       .f32 = true,
       .stored = "I"},
      {.name = "ssm_out", .ne = "I,E", .source = "mixer.out_proj | mamba.out_proj", .when = when},
  }};
}

/// The same rows for layers whose mixer is named "mamba".
template <std::size_t N>
constexpr std::array<Tensor, N> called_mamba(std::array<Tensor, N> rows) {
  for (Tensor& row : rows) row.source = row.source.without_first();
  return rows;
}

/// llama.cpp's Mamba layers only support this expansion.
inline constexpr Relation doubles_width = {"I", "2*E", "intermediate_size",
                                           "is not twice hidden_size, the only expansion that llama.cpp knows"};

/// Warns if a Mamba 2 layer's gated norm has several groups: llama.cpp normalises each group separately, mlx-lm all
/// together.
Status warn_of_groups(KeyWriter& out);
/// Warns about time step limits (time_step_limit), which llama.cpp does not apply.
Status warn_of_time_step_limit(KeyWriter& out);

}  // namespace modelutils::arch
