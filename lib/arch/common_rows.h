// Rows of keys and limits that many families share; rows of tensors are in common_tensors.h. A family uses those that
// fit and writes the rest itself.
#pragma once

#include <array>

#include "arch/common_tensors.h"
#include "arch/config_writer.h"
#include "arch/family.h"
#include "arch/rope.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

/// The values that a family's class assumes for fields that config.json lacks.
struct ClassDefaults {
  std::string_view context = "2048";
  std::string_view epsilon = {};  ///< if empty, the field is required
  std::string_view head_dim = "E/H";
  std::string_view width = {};  ///< of the dense feed-forward part; "Fx*U" if no layer has one
  bool layer_norm = false;      ///< LayerNorm, whose epsilon has a key of its own
};

/// Returns config.json's context length, or the class's default.
u64 context_or_default(const KeyWriter& out);
/// Writes the context length; warns if config.json lacks it.
Status write_context(KeyWriter& out, const Key& key);
/// Writes rope_theta or the class's default.
Status write_theta(KeyWriter& out, const Key& key);
/// Writes the rope base of sliding layers; no key if config.json lacks it.
Status write_local_theta(KeyWriter& out, const Key& key);
/// Writes rope.scaling.*. Linear and yarn are keys; llama3 and longrope are tensors (rope.h). Warns about other types.
Status write_rope_scaling(KeyWriter& out, const Key& key);
/// Like write_rope_scaling(), but writes "none" without scaling, as llama.cpp's converter does for these families.
Status write_rope_scaling_or_none(KeyWriter& out, const Key& key);
/// Like write_rope_scaling(), for families whose runtime has a log multiplier (mscale_all_dim).
Status write_rope_scaling_with_log_multiplier(KeyWriter& out, const Key& key);
/// Returns int(partial_rotary_factor × E) / H, the number of rotated elements in phi3; nullopt without the field.
std::optional<u64> partial_rotation(const hf::Config& config, const Sizes& sizes);
/// Returns int(partial_rotary_factor × D), the number of rotated elements in most other families; nullopt without the
/// field.
std::optional<u64> rotated_part_of_head(const hf::Config& config, const Sizes& sizes);
/// Writes expert_gating_func from the router's activation, or the row's fallback: 1 softmax, 2 sigmoid. Error
/// "convert-config": another activation.
Status write_gating(KeyWriter& out, const Key& key);
/// Writes whether the weights of the selected experts are normalised to sum 1, from config.json or the row's fallback;
/// no key without either. Always false with one expert per token, whose weight MLX and Hugging Face do not normalise.
Status write_weights_norm(KeyWriter& out, const Key& key);
/// Writes the number of expert groups, or of groups to choose from, if config.json states it or it exceeds 1. Warns if
/// those groups have no spare experts.
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

/// Rotary embedding of the whole head, with every scaling that keys can express.
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

/// The same, with "none" if there is no scaling.
inline constexpr auto said_rope_keys = [] {
  auto keys = rope_keys;
  named(keys, "rope.scaling.type").write = write_rope_scaling_or_none;
  return keys;
}();
/// The same with part of the head rotated; `derive` reads the number of rotated elements from config.json.
constexpr auto rope_keys_turning(std::optional<u64> (*derive)(const hf::Config&, const Sizes&)) {
  auto keys = rope_keys;
  named(keys, "rope.dimension_count").derive = derive;
  named(keys, "rope.dimension_count").read = read_rotation;
  return keys;
}
/// For classes that state the rotated part as rotary_dim or partial_rotary_factor; `part` is the default without both.
constexpr auto partial_rope_keys_of(std::string_view part) {
  auto keys = rope_keys_turning(rotated_part_of_head);
  named(keys, "rope.dimension_count").fields = "rotary_dim";
  named(keys, "rope.dimension_count").fallback = part;
  return keys;
}
inline constexpr auto partial_rope_keys = partial_rope_keys_of("D");
/// Returns `keys` with Phi-3's scaling, whose factors are tensors.
constexpr auto with_longrope(std::array<Key, 12> keys) {
  named(keys, "rope.scaling.type").write = write_phi3_rope_scaling;
  named(keys, "rope.scaling.type").read = read_phi3_rope_scaling;
  return keys;
}
/// Returns `keys` with rope sections for images. Tokens of text have the same position in all of them.
constexpr auto with_sections(std::array<Key, 12> keys) {
  named(keys, "rope.scaling.type").write = write_scaling_besides_sections;
  return joined(keys, std::array<Key, 1>{{{.name = "rope.dimension_sections",
                                           .type = KeyType::u32_list,
                                           .need = Need::required,
                                           .write = write_rope_sections,
                                           .read = read_rope_sections}}});
}
/// For models that stretch the base by an alpha (Hunyuan).
inline constexpr auto stretched_rope_keys = [] {
  auto keys = rope_keys;
  named(keys, "rope.freq_base").write = write_stretched_theta;
  named(keys, "rope.scaling.type").write = write_scaling_besides_alpha;
  return keys;
}();

/// Used with write_rope_scaling_with_log_multiplier().
inline constexpr Key yarn_log_multiplier = {.name = "rope.scaling.yarn_log_multiplier", .type = KeyType::f32};

/// The number of experts, and how many of them each token uses.
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

/// The width of an expert if it differs from the dense feed-forward width.
inline constexpr Key expert_width = {.name = "expert_feed_forward_length",
                                     .fields = "moe_intermediate_size",
                                     .symbol = "Fx",
                                     .when = "X",
                                     .loader_default = "F/U"};

/// The number of dense layers before the first layer with experts.
inline constexpr Key leading_dense = {.name = "leading_dense_block_count",
                                      .fields = "first_k_dense_replace|num_dense_layers|moe_layer_start_index",
                                      .symbol = "Ld",
                                      .fallback = "0",
                                      .when = "X",
                                      .loader_default = "0"};

/// The number of shared experts, which every token uses. They form one feed-forward part, Ns times as wide as an
/// expert.
inline constexpr Key shared_expert_count = {.name = "expert_shared_count",
                                            .fields = "n_shared_experts|num_shared_experts|moe_num_shared_experts",
                                            .symbol = "Ns",
                                            .fallback = "0",
                                            .when = "X",
                                            .loader_default = "0"};

/// The factor for the weights of the selected experts, and whether they are normalised to sum 1 first. The arguments
/// are the class's defaults, if any.
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

/// How the router's logits become scores. `fallback` is the class's default.
constexpr Key expert_gating(std::string_view fallback) {
  return {.name = "expert_gating_func",
          .fields = "scoring_func|score_function|score_func|moe_gate_act|moe_router_activation_func",
          .fallback = fallback,
          .when = "X",
          .write = write_gating,
          .read = read_gating};
}

/// Experts in groups: only experts of the Gu groups with the best pairs of experts are selected. One group means none.
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

/// Refuses rotation of adjacent pairs for runtimes that rotate halves.
inline constexpr Fixed rotates_halves = {"rope_traditional", "false", Severity::error,
                                         "this architecture rotates halves of a head in every runtime"};
/// Embedding models with Gemma's classes use bidirectional attention. "vision" only concerns image tokens, which text
/// GGUFs do not have.
inline constexpr Fixed sees_what_precedes = {"use_bidirectional_attention", "false|vision", Severity::error,
                                             "llama.cpp computes causal attention for this architecture"};
/// The opposite: refuses rotation of halves.
inline constexpr Fixed rotates_pairs = {"rope_traditional", "true", Severity::error,
                                        "this architecture rotates adjacent pairs in every runtime"};
/// The heads together must be as wide as the residual stream.
inline constexpr Relation whole_width = {
    "D*H", "E", "head_dim",
    "times the number of heads is not hidden_size, but every runtime of this architecture assumes it is"};
/// The whole head must be rotated.
inline constexpr Fixed rotates_whole_head = {"partial_rotary_factor", "1", Severity::error,
                                             "llama.cpp rotates the whole head"};
/// Every layer must have experts.
inline constexpr Fixed experts_in_each = {"decoder_sparse_step", "1", Severity::error,
                                          "llama.cpp requires experts in every layer"};
inline constexpr Fixed experts_in_all = {"mlp_only_layers", "[]", Severity::error,
                                         "llama.cpp requires experts in every layer"};
/// For runtimes that always, or never, normalise the weights of the selected experts, regardless of config.json.
inline constexpr Fixed normalises_weights = {"norm_topk_prob", "true", Severity::warning,
                                             "llama.cpp computes as if it were true"};
inline constexpr Fixed leaves_weights = {"norm_topk_prob", "false", Severity::warning,
                                         "llama.cpp computes as if it were false"};

/// Warns about sliding windows, which the family's runtime ignores.
Status warn_of_windows(KeyWriter& out);

}  // namespace modelutils::arch
