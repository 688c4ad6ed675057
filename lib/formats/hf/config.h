// Reads config.json of a Hugging Face or MLX directory into one flat view: text_config overlays the top level (in
// Qwen's Omni models thinker_config does, below its own text_config), null counts as absent, numbers as Python writes
// them (json::Numbers::python), both generations of rope settings normalised (docs/formats/mlx.md) and checked. The
// list of fields with several names is here and nowhere else; the first name that the file has counts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "formats/hf/sentence_modules.h"
#include "json/reader.h"

namespace modelutils::hf::fields {

// Fields of config.json that have several names. The one list of aliases: readers of the file, rows of families and the
// summary take them from here. The first name that the file has counts.

inline constexpr std::string_view layers = "num_hidden_layers|n_layers|n_layer|num_layers";
inline constexpr std::string_view context =
    "max_position_embeddings|n_ctx|n_positions|max_sequence_length|model_max_length|max_seq_len";
inline constexpr std::string_view width = "hidden_size|n_embd|dim|d_model";
inline constexpr std::string_view feed_forward = "intermediate_size|n_inner|hidden_dim";
inline constexpr std::string_view heads = "num_attention_heads|n_head|n_heads";
inline constexpr std::string_view kv_heads = "num_key_value_heads|n_kv_heads";
inline constexpr std::string_view experts = "num_local_experts|num_experts|n_routed_experts|moe_num_experts";
inline constexpr std::string_view experts_used =
    "num_experts_per_tok|experts_per_token|num_experts_per_token|moe_topk|moe_k";
inline constexpr std::string_view rms_epsilon = "rms_norm_eps|norm_eps";
inline constexpr std::string_view rope_base = "rope_theta|global_rope_theta|rope_global_theta|rotary_emb_base";
inline constexpr std::string_view rope_base_sliding = "rope_local_base_freq|local_rope_theta|swa_rope_theta";
inline constexpr std::string_view activation = "hidden_activation|hidden_act";
inline constexpr std::string_view dtype = "dtype|torch_dtype";

}  // namespace modelutils::hf::fields

namespace modelutils::hf {

/// Scaling of the rotary embedding. Absent fields stay empty; no defaults are applied here.
struct RopeScaling {
  /// "linear", "llama3", "yarn", "longrope", "su", "dynamic", …; never "default". Empty if the file has factors but no
  /// type.
  std::string type;
  std::optional<double> factor;
  std::optional<double> low_freq_factor, high_freq_factor;           ///< llama3
  std::optional<double> original_max_position_embeddings;            ///< from the scaling object only
  std::optional<double> attention_factor;                            ///< also spelled attn_factor
  std::optional<double> extrapolation_factor, beta_fast, beta_slow;  ///< yarn
  std::optional<double> mscale, mscale_all_dim;     ///< yarn: factors applied to the logarithm of `factor`
  std::optional<double> short_mscale, long_mscale;  ///< longrope
  std::vector<double> short_factor, long_factor;    ///< longrope; empty if absent or not all elements are numbers
};

/// Normalised rope settings.
struct Rope {
  std::optional<double> theta;         ///< base for the global layers, or for all
  std::optional<double> theta_local;   ///< base for sliding-window layers, if different
  std::optional<RopeScaling> scaling;  ///< for the global layers; nullopt for type "default"
  std::optional<RopeScaling> scaling_local;
};

/// One config.json. An optional is empty if the field is absent, null, or of the wrong type (then `findings` reports
/// it). Most hyper-parameters have no member: count_field(fields::heads) and its like read them.
struct Config {
  std::string path;  ///< file name for messages

  std::vector<std::string> architectures;  ///< text_config.architectures, if any, before the top level's
  std::string architecture;                ///< architectures[0], or empty
  std::string model_type;                  ///< from text_config, else from the top level; may be empty
  bool has_text_config = false;            ///< the file has a text_config: a multimodal wrapper

  std::optional<u64> block_count;  ///< fields::layers
  std::optional<u64> vocab_size;
  std::optional<u64> sliding_window;
  std::optional<u64> sliding_window_pattern;
  std::optional<double> partial_rotary_factor;  ///< from the rope object, else from the top level
  std::optional<bool> tie_word_embeddings;
  std::vector<std::string> layer_types;
  std::string hidden_act;  ///< fields::activation
  Rope rope;

  std::optional<json::Element> quantization;         ///< unparsed, of any type
  std::optional<json::Element> quantization_config;  ///< unparsed
  std::string quant_method;                          ///< quantization_config.quant_method, or empty

  SentenceModules modules;  ///< of the folder; without any if the text was parsed alone

  FindingLog findings;  ///< scope model: "hf-config-field" (wrong type), "hf-rope" (number out of range)

  // Each accepts several names, "a|b", and returns the first value of the requested kind.

  /// Returns a field of text_config, else of thinker_config, else of the top level; nullopt if absent or null in all.
  /// "a.b" is member b of the object a.
  std::optional<json::Element> field(std::string_view names) const;
  /// Returns a non-negative integer; nullopt if absent or of another type.
  std::optional<u64> u64_field(std::string_view names) const;
  /// Also accepts a list of equal numbers, because some configs state sizes per layer.
  std::optional<u64> count_field(std::string_view names) const;
  std::optional<double> number_field(std::string_view names) const;
  std::optional<std::string_view> string_field(std::string_view names) const;
  std::optional<bool> bool_field(std::string_view names) const;

  /// The whole file. Elements are valid as long as any copy of this Config exists.
  std::shared_ptr<json::Document> document;
  std::optional<json::Element> overlay;  ///< the text_config object
  std::optional<json::Element> thinker;  ///< the thinker_config object
};

/// Reads a folder's config.json, or returns nullopt if there is none. Codes: those of json::load_if_present(),
/// "hf-config-not-object".
Result<std::optional<Config>> load_config(const ModelFolder& folder);

/// Parses the text of a config.json (for tests and fuzzers). `name` is the file name for messages.
Result<Config> parse_config(std::string_view text, std::string name);

// Checks for rope settings that no runtime can use.

/// Adds an error "hf-rope" for every number in `config.rope` and `config.partial_rotary_factor` that is out of range:
/// bases, factors and original contexts must be positive and finite, llama3's two limits in order, and the rotated
/// fraction of a head above 0 and at most 1.
void check_rope(const Config& config, FindingLog& findings);

}  // namespace modelutils::hf
