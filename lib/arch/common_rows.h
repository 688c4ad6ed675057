// Rows of keys and limits that many families share; those of tensors are in common_tensors.h. A family takes what fits
// and writes the rest itself.
#pragma once

#include <array>

#include "arch/common_tensors.h"
#include "arch/config_writer.h"
#include "arch/family.h"
#include "arch/rope.h"
#include "hf/fields.h"

namespace modelutils::arch {

/// What a config.json without the field means to a family's class.
struct ClassDefaults {
  std::string_view context = "2048";
  std::string_view epsilon = {};  ///< empty: required
  std::string_view head_dim = "E/H";
  std::string_view width = {};  ///< of the dense feed-forward part; "Fx*U" where no layer has one
  bool layer_norm = false;      ///< LayerNorm: its epsilon has a key of its own
};

/// context_length of config.json, or the class's default.
u64 context_or_default(const KeyWriter& out);
Status write_context(KeyWriter& out, const Key& key);
Status write_theta(KeyWriter& out, const Key& key);
Status write_local_theta(KeyWriter& out, const Key& key);
/// rope.scaling.*: linear and yarn as keys; llama3 and longrope are tensors (generated.h); others warn.
Status write_rope_scaling(KeyWriter& out, const Key& key);
/// The same for families of which llama.cpp's converter says "none" where nothing is scaled.
Status write_rope_scaling_or_none(KeyWriter& out, const Key& key);
/// The same for families whose runtime has a log multiplier: mscale_all_dim.
Status write_rope_scaling_with_log_multiplier(KeyWriter& out, const Key& key);
/// int(partial_rotary_factor × E) / H: what phi3 rotates.
std::optional<u64> partial_rotation(const hf::Config& config, const Sizes& sizes);
/// int(partial_rotary_factor × D): what most others rotate. Nothing without the field.
std::optional<u64> rotated_part_of_head(const hf::Config& config, const Sizes& sizes);
/// expert_gating_func from the router's activation, else the row's fallback: 1 softmax, 2 sigmoid. Error
/// "convert-config": another one.
Status write_gating(KeyWriter& out, const Key& key);
/// Whether the sum of the chosen experts' weights is made one: as config.json says, else the row's fallback (without
/// one no key); never where one expert is chosen, whose weight MLX and Hugging Face leave alone.
Status write_weights_norm(KeyWriter& out, const Key& key);
/// Groups of experts, or how many of them may be chosen from: where config.json says it or there is more than one.
/// Warns where those have no expert to spare.
Status write_groups(KeyWriter& out, const Key& key);

/// Sizes of a decoder with attention in every layer.
constexpr std::array<Key, 10> decoder_sizes(ClassDefaults defaults = {}) {
  const Missing epsilon = defaults.epsilon.empty() ? Missing::refuse : Missing::assume;
  const std::string_view norm =
      defaults.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  const std::string_view norm_fields = defaults.layer_norm
                                           ? "layer_norm_eps|layer_norm_epsilon|norm_epsilon|norm_eps|layernorm_epsilon"
                                           : hf::fields::rms_epsilon;
  return {{
      {.name = "block_count", .fields = hf::fields::layers, .symbol = "L", .need = Need::required},
      {.name = "context_length",
       .fields = hf::fields::context,
       .fallback = defaults.context,
       .missing = Missing::warn,
       .need = Need::required,
       .write = write_context},
      {.name = "embedding_length", .fields = hf::fields::width, .symbol = "E", .need = Need::required},
      {.name = "feed_forward_length",
       .type = KeyType::u32_where_used,
       .fields = hf::fields::feed_forward,
       .symbol = "F",
       .fallback = defaults.width,
       .loader_default = "0"},
      {.name = "attention.head_count",
       .type = KeyType::u32_or_layers,
       .fields = hf::fields::heads,
       .symbol = "H",
       .missing = Missing::refuse,
       .need = Need::required},
      {.name = "attention.head_count_kv",
       .type = KeyType::u32_or_layers,
       .fields = hf::fields::kv_heads,
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
      {.name = "attention.value_length", .fallback = "D", .missing = Missing::assume, .loader_default = "E/H"},
      {.name = "vocab_size", .fields = "vocab_size", .symbol = "V", .loader_default = "0"},
  }};
}

/// Rotary embedding of the whole head, with every scaling that keys can say.
inline constexpr std::array<Key, 12> rope_keys = {{
    {.name = "rope.dimension_count", .symbol = "R", .fallback = "D", .loader_default = "D"},
    {.name = "rope.freq_base", .type = KeyType::f32, .write = write_theta, .read = read_theta},
    {.name = "rope.freq_base_swa", .type = KeyType::f32, .write = write_local_theta, .read = read_local_theta},
    {.name = "rope.scaling.type", .type = KeyType::text, .write = write_rope_scaling, .read = read_rope_scaling},
    {.name = "rope.scaling.factor", .type = KeyType::f32},
    {.name = "rope.scaling.original_context_length"},
    {.name = "rope.scaling.attn_factor", .type = KeyType::f32},
    {.name = "rope.scaling.finetuned", .type = KeyType::flag},
    {.name = "rope.scaling.yarn_ext_factor", .type = KeyType::f32},
    {.name = "rope.scaling.yarn_attn_factor", .type = KeyType::f32},
    {.name = "rope.scaling.yarn_beta_fast", .type = KeyType::f32},
    {.name = "rope.scaling.yarn_beta_slow", .type = KeyType::f32},
}};

/// The same with "none" where nothing is scaled.
inline constexpr auto said_rope_keys = [] {
  auto keys = rope_keys;
  named(keys, "rope.scaling.type").write = write_rope_scaling_or_none;
  return keys;
}();
/// The same where a part of the head is rotated, as `derive` reads it from config.json.
constexpr auto rope_keys_turning(std::optional<u64> (*derive)(const hf::Config&, const Sizes&)) {
  auto keys = rope_keys;
  named(keys, "rope.dimension_count").derive = derive;
  named(keys, "rope.dimension_count").read = read_rotation;
  return keys;
}
/// Where rotary_dim or partial_rotary_factor says which part; `part` is what a config.json without them means.
constexpr auto partial_rope_keys_of(std::string_view part) {
  auto keys = rope_keys_turning(rotated_part_of_head);
  named(keys, "rope.dimension_count").fields = "rotary_dim";
  named(keys, "rope.dimension_count").fallback = part;
  return keys;
}
inline constexpr auto partial_rope_keys = partial_rope_keys_of("D");
/// `keys` with the scaling of Phi-3, whose factors are tensors.
constexpr auto with_longrope(std::array<Key, 12> keys) {
  named(keys, "rope.scaling.type").write = write_phi3_rope_scaling;
  named(keys, "rope.scaling.type").read = read_phi3_rope_scaling;
  return keys;
}
/// Where a scaling by alpha stretches the base (Hunyuan).
inline constexpr auto stretched_rope_keys = [] {
  auto keys = rope_keys;
  named(keys, "rope.freq_base").write = write_stretched_theta;
  named(keys, "rope.scaling.type").write = write_scaling_besides_alpha;
  return keys;
}();

/// With write_rope_scaling_with_log_multiplier().
inline constexpr Key yarn_log_multiplier = {.name = "rope.scaling.yarn_log_multiplier", .type = KeyType::f32};

/// Experts as their number and how many of them a token passes.
inline constexpr std::array<Key, 2> expert_keys = {{
    {.name = "expert_count",
     .fields = hf::fields::experts,
     .symbol = "X",
     .fallback = "0",
     .when = "X",
     .loader_default = "0"},
    {.name = "expert_used_count",
     .fields = hf::fields::experts_used,
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

/// Dense layers before the first one with experts.
inline constexpr Key leading_dense = {.name = "leading_dense_block_count",
                                      .fields = "first_k_dense_replace|num_dense_layers|moe_layer_start_index",
                                      .symbol = "Ld",
                                      .fallback = "0",
                                      .when = "X",
                                      .loader_default = "0"};

/// Experts that every token passes; they are one feed-forward part of Ns times the width of an expert.
inline constexpr Key shared_expert_count = {.name = "expert_shared_count",
                                            .fields = "n_shared_experts|num_shared_experts|moe_num_shared_experts",
                                            .symbol = "Ns",
                                            .fallback = "0",
                                            .when = "X",
                                            .loader_default = "0"};

/// What the scores of the chosen experts are multiplied by, and whether their sum is made one before; the fallbacks are
/// the class's defaults, if it has some.
constexpr std::array<Key, 2> weights_of_experts(std::string_view scale = {}, std::string_view norm = {}) {
  return {{
      {.name = "expert_weights_scale",
       .type = KeyType::f32,
       .fields = "routed_scaling_factor|route_scale",
       .fallback = scale,
       .missing = scale.empty() ? Missing::leave_out : Missing::assume,
       .when = "X"},
      {.name = "expert_weights_norm",
       .type = KeyType::flag,
       .fields = "norm_topk_prob|route_norm",
       .fallback = norm,
       .missing = norm.empty() ? Missing::leave_out : Missing::assume,
       .when = "X",
       .write = write_weights_norm},
  }};
}
inline constexpr auto expert_weights = weights_of_experts();

/// How scores are made of the router's logits; `fallback` is what the model's class does if config.json is silent.
constexpr Key expert_gating(std::string_view fallback) {
  return {.name = "expert_gating_func",
          .fields = "scoring_func|score_function|score_func|moe_gate_act|moe_router_activation_func",
          .fallback = fallback,
          .when = "X",
          .write = write_gating,
          .read = read_gating};
}

/// Experts in groups: only those of the Gu groups with the best pairs of experts are chosen. One group is none.
inline constexpr std::array<Key, 2> expert_groups = {{
    {.name = "expert_group_count",
     .fields = "n_group|num_expert_group",
     .symbol = "G",
     .fallback = "1",
     .when = "X",
     .loader_default = "1",
     .write = write_groups,
     .read = read_expert_groups},
    {.name = "expert_group_used_count",
     .fields = "topk_group",
     .symbol = "Gu",
     .fallback = "1",
     .when = "X",
     .loader_default = "1",
     .write = write_groups,
     .read = read_expert_groups},
}};

/// The rotation of adjacent pairs is refused where the runtime rotates halves.
inline constexpr Fixed rotates_halves = {"rope_traditional", "false", Severity::error,
                                         "this architecture rotates halves of a head in every runtime"};
/// Embedding models of Gemma's classes see all of a text; "vision" means the tokens of a picture, which no GGUF of the
/// text has.
inline constexpr Fixed sees_what_precedes = {"use_bidirectional_attention", "false|vision", Severity::error,
                                             "in llama.cpp a token of this architecture sees only what precedes it"};
/// The other way round.
inline constexpr Fixed rotates_pairs = {"rope_traditional", "true", Severity::error,
                                        "this architecture rotates adjacent pairs in every runtime"};
/// The heads together are as wide as the residual stream.
inline constexpr Relation whole_width = {"D*H", "E", "head_dim",
                                         "times the number of heads is not hidden_size, which every runtime of this "
                                         "architecture takes for granted"};
/// No part of a head is left as it is.
inline constexpr Fixed rotates_whole_head = {"partial_rotary_factor", "1", Severity::error,
                                             "llama.cpp rotates the whole head"};
/// Every layer has experts.
inline constexpr Fixed experts_in_each = {"decoder_sparse_step", "1", Severity::error,
                                          "llama.cpp requires experts in every layer"};
inline constexpr Fixed experts_in_all = {"mlp_only_layers", "[]", Severity::error,
                                         "llama.cpp requires experts in every layer"};
/// What the runtime does with the sum of the chosen experts' weights, whatever config.json says.
inline constexpr Fixed normalises_weights = {"norm_topk_prob", "true", Severity::warning,
                                             "llama.cpp computes as if it were true"};
inline constexpr Fixed leaves_weights = {"norm_topk_prob", "false", Severity::warning,
                                         "llama.cpp computes as if it were false"};

/// Warns of sliding windows, which the runtime of the family ignores.
Status warn_of_windows(KeyWriter& out);

}  // namespace modelutils::arch
