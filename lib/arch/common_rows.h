// Rows that many families share. A family takes what fits and writes the rest itself.
#pragma once

#include <array>

#include "arch/family.h"

namespace modelutils::arch {

/// What a config.json without the field means to a family's class.
struct ClassDefaults {
  std::string_view context = "2048";
  std::string_view epsilon = {};  ///< empty: required
  std::string_view head_dim = "E/H";
  bool layer_norm = false;  ///< LayerNorm: its epsilon has a key of its own
};

/// context_length of config.json, or the class's default.
u64 context_or_default(const KeyWriter& out);
Status write_context(KeyWriter& out, const Key& key);
Status write_theta(KeyWriter& out, const Key& key);
Status write_local_theta(KeyWriter& out, const Key& key);
/// rope.scaling.*: linear and yarn as keys; llama3 and longrope are tensors (generated.h); others warn.
Status write_rope_scaling(KeyWriter& out, const Key& key);
/// int(partial_rotary_factor × E) / H: what phi3 rotates.
std::optional<u64> partial_rotation(const hf::Config& config, const Sizes& sizes);

/// Sizes of a decoder with attention in every layer.
constexpr std::array<Key, 10> decoder_sizes(ClassDefaults defaults = {}) {
  const Missing epsilon = defaults.epsilon.empty() ? Missing::refuse : Missing::assume;
  const std::string_view norm =
      defaults.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  const std::string_view norm_fields = defaults.layer_norm
                                           ? "layer_norm_eps|layer_norm_epsilon|norm_epsilon|norm_eps|layernorm_epsilon"
                                           : "rms_norm_eps|norm_eps";
  return {{
      {.name = "block_count",
       .fields = "num_hidden_layers|n_layers|n_layer|num_layers",
       .symbol = "L",
       .need = Need::required},
      {.name = "context_length",
       .fields = "max_position_embeddings|n_ctx|n_positions|max_sequence_length|model_max_length",
       .fallback = defaults.context,
       .missing = Missing::warn,
       .need = Need::required,
       .write = write_context},
      {.name = "embedding_length", .fields = "hidden_size|n_embd|dim", .symbol = "E", .need = Need::required},
      {.name = "feed_forward_length",
       .type = KeyType::u32_or_layers,
       .fields = "intermediate_size|n_inner|hidden_dim",
       .symbol = "F",
       .loader_default = "0"},
      {.name = "attention.head_count",
       .type = KeyType::u32_or_layers,
       .fields = "num_attention_heads|n_head|n_heads",
       .symbol = "H",
       .missing = Missing::refuse,
       .need = Need::required},
      {.name = "attention.head_count_kv",
       .type = KeyType::u32_or_layers,
       .fields = "num_key_value_heads|n_kv_heads",
       .symbol = "K",
       .fallback = "H",
       .loader_default = "H"},
      {.name = norm,
       .type = KeyType::f32,
       .fields = norm_fields,
       .fallback = defaults.epsilon,
       .missing = epsilon,
       .need = Need::required},
      {.name = "attention.key_length",
       .fields = "head_dim",
       .symbol = "D",
       .fallback = defaults.head_dim,
       .missing = Missing::refuse,
       .loader_default = "E/H"},
      {.name = "attention.value_length", .fallback = "D", .missing = Missing::assume},
      {.name = "vocab_size", .fields = "vocab_size", .symbol = "V", .loader_default = "0"},
  }};
}

/// Rotary embedding of the whole head, with every scaling that keys can say.
inline constexpr std::array<Key, 12> rope_keys = {{
    {.name = "rope.dimension_count", .symbol = "R", .fallback = "D", .loader_default = "D"},
    {.name = "rope.freq_base", .type = KeyType::f32, .write = write_theta},
    {.name = "rope.freq_base_swa", .type = KeyType::f32, .write = write_local_theta},
    {.name = "rope.scaling.type", .type = KeyType::text, .write = write_rope_scaling},
    {.name = "rope.scaling.factor", .type = KeyType::f32},
    {.name = "rope.scaling.original_context_length"},
    {.name = "rope.scaling.attn_factor", .type = KeyType::f32},
    {.name = "rope.scaling.finetuned", .type = KeyType::flag},
    {.name = "rope.scaling.yarn_ext_factor", .type = KeyType::f32},
    {.name = "rope.scaling.yarn_attn_factor", .type = KeyType::f32},
    {.name = "rope.scaling.yarn_beta_fast", .type = KeyType::f32},
    {.name = "rope.scaling.yarn_beta_slow", .type = KeyType::f32},
}};

/// Experts as their number and how many of them a token passes.
inline constexpr std::array<Key, 2> expert_keys = {{
    {.name = "expert_count",
     .fields = "num_local_experts|num_experts",
     .symbol = "X",
     .fallback = "0",
     .when = "X",
     .loader_default = "0"},
    {.name = "expert_used_count",
     .fields = "num_experts_per_tok|experts_per_token",
     .symbol = "U",
     .fallback = "0",
     .when = "X",
     .loader_default = "0"},
}};

/// The width of an expert where it is not that of the dense feed-forward part.
inline constexpr Key expert_width = {.name = "expert_feed_forward_length",
                                     .fields = "moe_intermediate_size",
                                     .symbol = "Fx",
                                     .when = "X",
                                     .loader_default = "F/U"};

inline constexpr std::array<Tensor, 1> embedding = {{{"token_embd", "E,V", "model.embed_tokens"}}};

inline constexpr std::array<Tensor, 2> norm_and_head = {{
    {"output_norm", "E", "model.norm"},
    {"output", "E,V", "lm_head"},
}};

/// Separate projections, rows as they are.
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
inline constexpr std::array<Tensor, 2> qk_norms = {{
    {"attn_q_norm", "D", "self_attn.q_norm"},
    {"attn_k_norm", "D", "self_attn.k_norm"},
}};
inline constexpr std::array<Tensor, 2> attention_output = {{
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
}};

inline constexpr std::array<Tensor, 3> gated_feed_forward = {{
    {"ffn_gate", "E,F", "mlp.gate_proj"},
    {"ffn_up", "E,F", "mlp.up_proj"},
    {"ffn_down", "F,E", "mlp.down_proj"},
}};

/// Router and experts as Qwen names them: MLX's stacks, one matrix for each expert, transformers v5's stacks.
inline constexpr std::array<Tensor, 4> qwen_experts = {{
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "mlp.gate", .f32 = true},
    {"ffn_gate_exps", "E,Fx,X",
     "mlp.switch_mlp.gate_proj | mlp.experts.#.gate_proj | mlp.experts.gate_proj | "
     "mlp.experts.gate_up_proj{X t:2 Fx -> X t=0 Fx}"},
    {"ffn_up_exps", "E,Fx,X",
     "mlp.switch_mlp.up_proj | mlp.experts.#.up_proj | mlp.experts.up_proj | "
     "mlp.experts.gate_up_proj{X t:2 Fx -> X t=1 Fx}"},
    {"ffn_down_exps", "Fx,E,X", "mlp.switch_mlp.down_proj | mlp.experts.#.down_proj | mlp.experts.down_proj"},
}};

/// The rotation of adjacent pairs is refused where the runtime rotates halves.
inline constexpr Fixed rotates_halves = {"rope_traditional", "false", Severity::error,
                                         "this architecture rotates halves of a head in every runtime"};
/// Every layer has experts.
inline constexpr std::array<Fixed, 3> experts_everywhere = {{
    rotates_halves,
    {"decoder_sparse_step", "1", Severity::error, "llama.cpp wants experts in every layer"},
    {"mlp_only_layers", "[]", Severity::error, "llama.cpp wants experts in every layer"},
}};

/// Warns of sliding windows, which the runtime of the family ignores.
Status warn_of_windows(KeyWriter& out);

}  // namespace modelutils::arch
