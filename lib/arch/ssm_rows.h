// Rows of state-space layers (Mamba and Mamba 2). Symbols: I inner width, S state size, Rt time step rank (in Mamba 2
// the head count), Kc convolution width, Gs groups (Mamba 2).
#pragma once

#include <array>
#include <optional>

#include "arch/family.h"
#include "arch/named_rows.h"
#include "hf/fields.h"

namespace modelutils::arch {

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
