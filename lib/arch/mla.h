// Latent attention (MLA): keys and values of all heads are rebuilt from one vector of Rk elements, next to R rotated
// ones that all heads share. Runtimes fold the rebuilding into queries and outputs, so that the cache holds that vector
// alone: one head of Rk + R elements. Symbols: Rq, Rk ranks of queries and of keys and values (Rq 0: none), D elements
// of a query or key head (R of them rotated), Dv of a value head.
#pragma once

#include <array>

#include "arch/common_rows.h"

namespace modelutils::arch {

/// qk_nope_head_dim + qk_rope_head_dim.
std::optional<u64> mla_head(const hf::Config& config, const Sizes& sizes);
/// Yarn as these families have it: one magnitude A on the rotated parts of queries and keys (mscale), the square of
/// another B on all scores (mscale_all_dim). The runtime multiplies the rotated parts by its attention factor A, and
/// all scores by the square of A (1 + 0.1 x ln(factor)), so the log multiplier x is chosen for that to be B. A
/// multiplier of 0 means another attention factor to it; the key holds a tenth of x.
Status write_mla_rope_scaling(KeyWriter& out, const Key& key);

/// Ranks of queries and of keys and values.
inline constexpr std::array<Key, 2> mla_ranks = {{
    {.name = "attention.q_lora_rank",
     .fields = "q_lora_rank",
     .symbol = "Rq",
     .fallback = "0",
     .when = "Rq",
     .loader_default = "0"},
    {.name = "attention.kv_lora_rank", .fields = "kv_lora_rank", .symbol = "Rk", .need = Need::required},
}};
/// The key by which llama.cpp tells whether a file has the layout of before 2025, whatever its sizes are, and the
/// symbol that is 1 in such files (read_gguf_sizes()): there keys and values of all heads are cached as they were
/// rebuilt.
inline constexpr std::string_view latent_key = "attention.key_length_mla", old_latent = "Old";
/// Heads as they are when they have been rebuilt.
inline constexpr std::array<Key, 2> mla_heads = {{
    {.name = latent_key, .symbol = "D", .loader_default = "KL", .derive = mla_head},
    {.name = "attention.value_length_mla", .fields = "v_head_dim", .symbol = "Dv", .loader_default = "VL"},
}};

/// `sizes` with the heads of latent attention.
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

/// Rebuilding of keys (transposed) and values, as mlx-lm keeps them or in one matrix. Files of before 2025 have that
/// matrix, and heads of their real size.
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
