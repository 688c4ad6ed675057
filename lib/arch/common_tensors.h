// Rows of tensors that many families share, and their look-up by name. A family uses those that fit and writes the
// rest itself. An unknown name does not compile, so removing or renaming a shared row shows every family that uses it.
#pragma once

#include <array>
#include <string_view>

#include "arch/family.h"

namespace modelutils::arch {

// Looks up rows of shared tables by name, for families that use or change some of them. An unknown name does not
// compile, so removing or renaming a shared row shows every family that uses it.

constexpr std::string_view name_of(const Key& row) {
  return row.name;
}
constexpr std::string_view name_of(const Tensor& row) {
  return row.name;
}
constexpr std::string_view name_of(const Fixed& row) {
  return row.field;
}

// Never defined: a call in a constant expression does not compile, and the compiler's message quotes the name.
void no_row_has_this_name(std::string_view name);
void several_rows_have_this_name(std::string_view name);

/// Returns the one row with this name: `named(keys, "attention.head_count_kv").derive_layers = kv_heads;`
template <typename Rows>
constexpr auto& named(Rows& rows, std::string_view name) {
  auto* found = std::data(rows);
  std::size_t count = 0;
  for (auto& row : rows) {
    if (name_of(row) != name) continue;
    found = &row;
    ++count;
  }
  if (count == 0) no_row_has_this_name(name);
  if (count > 1) several_rows_have_this_name(name);
  return *found;
}

/// Concatenates tables.
template <typename Row, std::size_t... N>
constexpr std::array<Row, (N + ...)> joined(const std::array<Row, N>&... tables) {
  std::array<Row, (N + ...)> rows = {};
  auto next = rows.begin();
  const auto append = [&](const auto& table) {
    for (const Row& row : table) *next++ = row;
  };
  (append(tables), ...);
  return rows;
}

/// The embedding, and the factors of llama3 and longrope scaling.
inline constexpr std::array<Tensor, 4> embedding_and_rope = {{
    {"token_embd", "E,V", "model.embed_tokens"},
    {"@rope_freqs.weight", "R/2", "=llama3", Need::optional},
    {"@rope_factors_long.weight", "R/2", "=longrope-long", Need::optional},
    {"@rope_factors_short.weight", "R/2", "=longrope-short", Need::optional},
}};
/// The embedding, and the factors of longrope scaling.
inline constexpr std::array<Tensor, 3> embedding_and_longrope = {
    {named(embedding_and_rope, "token_embd"), named(embedding_and_rope, "@rope_factors_long.weight"),
     named(embedding_and_rope, "@rope_factors_short.weight")}};
/// The embedding, and the factors of llama3 scaling.
inline constexpr std::array<Tensor, 2> embedding_and_llama3 = {
    {named(embedding_and_rope, "token_embd"), named(embedding_and_rope, "@rope_freqs.weight")}};

/// Separate projections, rows in source order.
inline constexpr std::array<Tensor, 4> attention = {{
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
}};
inline constexpr std::array<Tensor, 4> attention_with_biases = {{
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::required},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::required},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::required},
}};
inline constexpr std::array<Tensor, 4> attention_maybe_with_biases = {{
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::optional},
}};
inline constexpr std::array<Tensor, 2> qk_norms = {{
    {"attn_q_norm", "D", "self_attn.q_norm"},
    {"attn_k_norm", "D", "self_attn.k_norm"},
}};
inline constexpr std::array<Tensor, 2> qk_norms_over_all_heads = {{
    {"attn_q_norm", "H*D", "self_attn.q_norm"},
    {"attn_k_norm", "K*D", "self_attn.k_norm"},
}};
inline constexpr std::array<Tensor, 2> hunyuan_qk_norms = {{
    {"attn_q_norm", "D", "self_attn.query_layernorm"},
    {"attn_k_norm", "D", "self_attn.key_layernorm"},
}};
inline constexpr std::array<Tensor, 2> attention_output = {{
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
}};
/// The same norm under the name that some runtimes use.
inline constexpr std::array<Tensor, 2> attention_output_and_post_norm = {{
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"post_attention_norm", "E", "post_attention_layernorm"},
}};
/// Norms after attention and after the feed-forward part, instead of before.
inline constexpr std::array<Tensor, 4> attention_without_norm = {{
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
    {"attn_output", "H*D,E", "self_attn.o_proj"},
}};
inline constexpr std::array<Tensor, 1> norm_after_attention = {
    {{"post_attention_norm", "E", "post_attention_layernorm"}}};
inline constexpr std::array<Tensor, 1> norm_after_feed_forward = {
    {{"post_ffw_norm", "E", "post_feedforward_layernorm"}}};

/// LayerNorm, and biases everywhere.
inline constexpr std::array<Tensor, 6> attention_and_norms_with_biases = {{
    {"attn_norm", "E", "input_layernorm", Need::required, Need::required},
    {"attn_q", "E,H*D", "self_attn.q_proj", Need::required, Need::required},
    {"attn_k", "E,K*D", "self_attn.k_proj", Need::required, Need::required},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::required},
    {"attn_output", "H*D,E", "self_attn.o_proj", Need::required, Need::required},
    {"ffn_norm", "E", "post_attention_layernorm", Need::required, Need::required},
}};
inline constexpr std::array<Tensor, 2> norm_with_bias_and_head = {{
    {"output_norm", "E", "model.norm", Need::required, Need::required},
    {"output", "E,V", "lm_head"},
}};

/// For runtimes that rotate adjacent pairs: interleaves the rows of Q and K, unless the model already has them so.
inline constexpr std::array<Tensor, 4> projections_of_pairs = {{
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q", "E,H*D", "[traditional] self_attn.q_proj | self_attn.q_proj{H t:2 j:D/2 -> H j t}", Need::required,
     Need::optional},
    {"attn_k", "E,K*D", "[traditional] self_attn.k_proj | self_attn.k_proj{K t:2 j:D/2 -> K j t}", Need::required,
     Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", Need::required, Need::optional},
}};
inline constexpr std::array<Tensor, 6> attention_of_pairs = {{
    named(projections_of_pairs, "attn_norm"),
    named(projections_of_pairs, "attn_q"),
    named(projections_of_pairs, "attn_k"),
    named(projections_of_pairs, "attn_v"),
    {"attn_output", "H*D,E", "self_attn.o_proj", Need::required, Need::optional},
    named(attention_output, "ffn_norm"),
}};

inline constexpr std::array<Tensor, 3> gated_feed_forward_with_biases = {{
    {"ffn_gate", "E,F", "mlp.gate_proj", Need::required, Need::optional},
    {"ffn_up", "E,F", "mlp.up_proj", Need::required, Need::optional},
    {"ffn_down", "F,E", "mlp.down_proj", Need::required, Need::optional},
}};
inline constexpr std::array<Tensor, 3> gated_feed_forward = {{
    {"ffn_gate", "E,F", "mlp.gate_proj"},
    {"ffn_up", "E,F", "mlp.up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
}};

/// Router and experts with Qwen's names: MLX's stacks, one matrix per expert, or transformers v5's stacks. `when`
/// selects the layers.
constexpr std::array<Tensor, 4> routed_experts(ConditionText when = {}) {
  return {{
      {.name = "ffn_gate_inp", .ne = "E,X", .source = "mlp.gate", .when = when, .f32 = true},
      {.name = "ffn_gate_exps",
       .ne = "E,Fx,X",
       .source = "mlp.switch_mlp.gate_proj | mlp.experts.#.gate_proj | mlp.experts.gate_proj | "
                 "mlp.experts.gate_up_proj{X t:2 Fx -> X t=0 Fx}",
       .when = when},
      {.name = "ffn_up_exps",
       .ne = "E,Fx,X",
       .source = "mlp.switch_mlp.up_proj | mlp.experts.#.up_proj | mlp.experts.up_proj | "
                 "mlp.experts.gate_up_proj{X t:2 Fx -> X t=1 Fx}",
       .when = when},
      {.name = "ffn_down_exps",
       .ne = "Fx,E,X",
       .source = "mlp.switch_mlp.down_proj | mlp.experts.#.down_proj | mlp.experts.down_proj",
       .when = when},
  }};
}
inline constexpr auto qwen_experts = routed_experts();

/// Like routed_experts(), for classes in which mlx-lm's stacks have the names of Hugging Face's single experts.
constexpr std::array<Tensor, 4> plainly_named_experts(ConditionText when = {}) {
  auto rows = routed_experts(when);
  named(rows, "ffn_gate_exps").source =
      "[hf] mlp.experts.#.gate_proj | mlp.experts.gate_proj | mlp.experts.#.gate_proj | mlp.switch_mlp.gate_proj";
  named(rows, "ffn_up_exps").source =
      "[hf] mlp.experts.#.up_proj | mlp.experts.up_proj | mlp.experts.#.up_proj | mlp.switch_mlp.up_proj";
  named(rows, "ffn_down_exps").source =
      "[hf] mlp.experts.#.down_proj | mlp.experts.down_proj | mlp.experts.#.down_proj | mlp.switch_mlp.down_proj";
  return rows;
}

/// mlx-lm's names for the matrices of Mixtral's experts (Family::renames).
inline constexpr std::string_view mixtral_renames = "w1=gate_proj|w3=up_proj|w2=down_proj|experts.#.=switch_mlp.";

/// Conditions for models whose first Ld layers are dense. They select layers with experts, layers with shared experts,
/// and dense layers.
inline constexpr std::string_view expert_layers = "X & i>=Ld";
inline constexpr std::string_view shared_expert_layers = "Ns & i>=Ld";
inline constexpr std::string_view dense_layers = "!X | i<Ld";

inline constexpr auto experts_behind_dense = routed_experts(expert_layers);

/// The bias that is added to the scores only for selecting experts; the constant below has DeepSeek's names.
constexpr std::array<Tensor, 1> choice_bias(SourceText source, Need need = Need::required) {
  return {{{.name = "@exp_probs_b.bias", .ne = "X", .source = source, .need = need, .when = expert_layers}}};
}
inline constexpr auto expert_choice_bias =
    choice_bias("mlp.gate.e_score_correction_bias | mlp.e_score_correction_bias");
/// Shared experts, which every token uses, with DeepSeek's names.
inline constexpr std::array<Tensor, 3> deepseek_shared_experts = {{
    {.name = "ffn_gate_shexp", .ne = "E,Fx*Ns", .source = "mlp.shared_experts.gate_proj", .when = shared_expert_layers},
    {.name = "ffn_up_shexp", .ne = "E,Fx*Ns", .source = "mlp.shared_experts.up_proj", .when = shared_expert_layers},
    {.name = "ffn_down_shexp", .ne = "Fx*Ns,E", .source = "mlp.shared_experts.down_proj", .when = shared_expert_layers},
}};
constexpr std::array<Tensor, 3> feed_forward_of(ConditionText when) {
  return {{
      {.name = "ffn_gate", .ne = "E,F", .source = "mlp.gate_proj", .when = when},
      {.name = "ffn_up", .ne = "E,F", .source = "mlp.up_proj", .when = when},
      {.name = "ffn_down", .ne = "F,E", .source = "mlp.down_proj", .when = when},
  }};
}
inline constexpr auto leading_feed_forward = feed_forward_of(dense_layers);

}  // namespace modelutils::arch
