// Latent attention (MLA): keys and values of all heads are computed from one vector of Rk elements, plus R rotated
// elements that all heads share. Runtimes fold that computation into queries and outputs, so the cache only holds that
// vector: one head of Rk + R elements. Symbols: Rq and Rk are the ranks of queries and of keys and values (Rq is 0 if
// queries have none), D the elements of a query or key head (of which R are rotated), Dv those of a value head.
#pragma once

#include <array>

#include "arch/common_rows.h"

namespace modelutils::arch {

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
/// llama.cpp recognises files with the layout of before 2025 by the absence of `latent_key`, whatever their sizes.
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

/// The matrices that compute keys (transposed) and values: separate as in mlx-lm, or one matrix. Files of before 2025
/// have that one matrix, and heads of their real size.
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

}  // namespace modelutils::arch
