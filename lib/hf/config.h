// config.json of a Hugging Face or MLX directory: one flat view over text_config overlays, nulls as absent, numbers as
// Python writes them (json::Numbers::python), aliases resolved, both generations of rope settings normalised
// (docs/formats/mlx.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "json/reader.h"

namespace modelutils::hf {

/// Scaling of the rotary embedding. Members are as the file has them; what it lacks is absent (no defaults here).
struct RopeScaling {
  /// "linear", "llama3", "yarn", "longrope", "su", "dynamic", …; never "default"; empty if there are factors without
  /// it.
  std::string type;
  std::optional<double> factor;
  std::optional<double> low_freq_factor, high_freq_factor;           ///< llama3
  std::optional<double> original_max_position_embeddings;            ///< from the scaling object only
  std::optional<double> attention_factor;                            ///< also spelled attn_factor
  std::optional<double> extrapolation_factor, beta_fast, beta_slow;  ///< yarn
  std::optional<double> mscale, mscale_all_dim;                      ///< yarn: factors of the logarithm of `factor`
  std::optional<double> short_mscale, long_mscale;                   ///< longrope
  std::vector<double> short_factor, long_factor;                     ///< longrope; empty if absent or not all numbers
};

/// Normalised rope settings.
struct Rope {
  std::optional<double> theta;         ///< base of the (global) layers
  std::optional<double> theta_local;   ///< base of the sliding-window layers, if they have their own
  std::optional<RopeScaling> scaling;  ///< of the global layers; nothing for type "default"
  std::optional<RopeScaling> scaling_local;
};

/// One config.json. Every optional is empty where the file has no such field, null, or something of another type (then
/// `findings` says so). Aliases are listed with each member, in the order in which they are tried.
struct Config {
  std::string path;  ///< file name for messages

  std::vector<std::string> architectures;  ///< inner text_config.architectures before the outer one
  std::string architecture;                ///< architectures[0], or empty
  std::string model_type;                  ///< inner before outer; may be empty
  bool has_text_config = false;            ///< an overlay was found: a multimodal wrapper

  std::optional<u64> block_count;  ///< num_hidden_layers, n_layers, n_layer, num_layers
  std::optional<u64>
      context_length;  ///< max_position_embeddings, n_ctx, n_positions, max_sequence_length, model_max_length
  std::optional<u64> embedding_length;                   ///< hidden_size, n_embd, dim
  std::optional<u64> feed_forward_length;                ///< intermediate_size, n_inner, hidden_dim
  std::optional<u64> head_count;                         ///< num_attention_heads, n_head, n_heads
  std::optional<u64> head_count_kv;                      ///< num_key_value_heads, n_kv_heads
  std::optional<u64> head_dim;                           ///< head_dim
  std::optional<u64> vocab_size;                         ///< vocab_size
  std::optional<double> rms_norm_eps;                    ///< rms_norm_eps, norm_eps
  std::optional<u64> expert_count;                       ///< num_local_experts, num_experts
  std::optional<u64> expert_used_count;                  ///< num_experts_per_tok
  std::optional<u64> expert_feed_forward_length;         ///< moe_intermediate_size
  std::optional<u64> expert_shared_feed_forward_length;  ///< shared_expert_intermediate_size
  std::optional<u64> sliding_window;
  std::optional<u64> sliding_window_pattern;
  std::optional<double> attn_logit_softcapping, final_logit_softcapping, query_pre_attn_scalar;
  std::optional<double> partial_rotary_factor;          ///< of the rope object, else of the top level
  std::optional<u64> original_max_position_embeddings;  ///< of the top level (phi3)
  std::optional<bool> tie_word_embeddings;
  std::vector<std::string> layer_types;
  std::string hidden_act;  ///< hidden_activation, hidden_act
  std::string dtype;       ///< dtype, torch_dtype
  Rope rope;

  std::vector<u64> eos_token_ids;  ///< eos_token_id: a number or a list
  std::optional<u64> bos_token_id, pad_token_id;

  std::optional<json::Element> quantization;         ///< raw: an object, or whatever stands there
  std::optional<json::Element> quantization_config;  ///< raw
  std::string quant_method;                          ///< quantization_config.quant_method, or empty

  FindingLog findings;  ///< scope model: "hf-config-field" (a wrong type), "hf-rope" (a number out of its range)

  /// A raw field: of the text_config overlay, else of the top level. Nothing if absent or null in both. "a.b" is member
  /// b of the object a.
  std::optional<json::Element> field(std::string_view key) const;
  std::optional<u64> u64_field(std::string_view key) const;
  /// The same, or the number that a list of equal ones has, as some configs state sizes for each layer.
  std::optional<u64> same_u64_field(std::string_view key) const;
  std::optional<double> number_field(std::string_view key) const;
  std::optional<std::string_view> string_field(std::string_view key) const;
  std::optional<bool> bool_field(std::string_view key) const;

  /// The whole file. Elements live as long as any copy of this Config.
  std::shared_ptr<json::Document> document;
  std::optional<json::Element> overlay;  ///< the text_config object
};

/// Reads a folder's config.json; nothing if there is none. Codes: those of json::load_if_present,
/// "hf-config-not-object".
Result<std::optional<Config>> load_config(const ModelFolder& folder);

/// The same from text (tests, fuzzers).
Result<Config> parse_config(std::string_view text, std::string name);

}  // namespace modelutils::hf
