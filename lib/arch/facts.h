// The hyper-parameters of a model as its file states them. Only the table in facts.cc has their names. A fact records
// the stated value even if no program accepts it; each reader decides which values it accepts and names the key in its
// own error. Readers also choose their defaults, because these differ: without a head size, the memory plan rounds E /
// H down, while BUMPWGT refuses a fraction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "arch/family.h"
#include "base/error.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"

namespace modelutils::hf {
struct Config;
}

namespace modelutils::arch {

/// A list with one number or flag for each layer.
struct LayerNumbers {
  u64 length = 0;           ///< number of elements in the file
  bool is_numeric = false;  ///< elements are numbers or flags; otherwise `values` is empty
  bool is_whole = false;    ///< elements are integers or flags
  std::vector<i64> values;  ///< at most 4,096 elements; fractions are truncated, larger numbers saturate at 64 bits
};

/// One hyper-parameter.
class Fact {
 public:
  /// The file does not state a value.
  struct Absent {};
  /// The value is neither text nor a number in the range of a hyper-parameter.
  struct Unusable {};
  using Value = std::variant<Absent, Unusable, u64, bool, double, std::string, LayerNumbers>;

  std::string name;  ///< the key, "llama.block_count", or the field of config.json
  Value value;

  bool is_stated() const { return !std::holds_alternative<Absent>(value); }
  /// Returns a non-negative integer; nullopt for any other value, including flags and lists.
  std::optional<u64> number() const { return get<u64>(); }
  std::optional<bool> flag() const { return get<bool>(); }
  std::optional<double> real() const { return get<double>(); }
  /// Returns the text as stored, without escaping.
  std::optional<std::string_view> text() const { return get<std::string, std::string_view>(); }
  /// Returns nullptr if the value is not a list.
  const LayerNumbers* list() const { return std::get_if<LayerNumbers>(&value); }

 private:
  template <typename T, typename As = T>
  std::optional<As> get() const {
    const T* held = std::get_if<T>(&value);
    return held == nullptr ? std::nullopt : std::optional<As>(*held);
  }
};

struct Facts {
  std::string architecture;           ///< general.architecture; empty if absent
  std::optional<u64> tokens;          ///< length of the vocabulary's list
  std::optional<u64> embedding_rows;  ///< rows of token_embd.weight
  std::vector<std::string> labels;    ///< texts of classifier.output_labels; at most 4,096

  Fact layers, predicted_layers, leading_dense_layers, loops;
  Fact context, width, layer_input_width, vocabulary, feed_forward;
  Fact heads, kv_heads, key_length, value_length;
  Fact key_length_sliding, value_length_sliding;  ///< in layers with a sliding window
  Fact key_length_latent, value_length_latent;    ///< for a query head with latent attention
  Fact query_rank, kv_rank;                       ///< ranks of latent attention
  Fact shared_kv_layers;  ///< number of last layers that use the keys and values of earlier layers
  Fact experts, experts_used, expert_width, shared_experts, shared_expert_width, expert_groups, expert_groups_used;
  Fact window, window_pattern;  ///< width in tokens; a period, or a flag per layer
  Fact recurrent_layers,
      attention_every;  ///< a flag per layer; the last layer of every such number of layers has attention
  Fact ssm_kernel, ssm_width, ssm_state, ssm_groups;
  Fact token_shifts, wkv_head, convolution_length, delta_head;
  Fact indexer_key_length, indexer_heads, indexer_types, compress_ratios, hyper_connections;
  Fact norm_epsilon, old_norm_epsilon;
  Fact rotated, rope_base, rope_base_sliding;
  Fact rope_scaling, rope_factor, old_rope_factor, rope_context;
  Fact pooling, causal, output_width;  ///< pooling_type, attention.causal, embedding_length_out
  Fact yarn_attention_factor, yarn_extrapolation_factor, yarn_beta_fast, yarn_beta_slow;
};

/// Reads the keys of a GGUF. Errors: read errors.
Result<Facts> read_facts(const gguf::SplitSet& set);
/// Like read_facts() for a set, with the existing `index` of `file`, the first file of the set.
Result<Facts> read_facts(const gguf::Index& index, const gguf::SetFile& file);
/// Reads one key, named without "<architecture>.". It need not be in the table, as rows of families use further keys.
Result<Fact> read_fact(const gguf::Index& index, const gguf::SetFile& file, std::string_view key);

/// Reads a config.json. For a known family, returns the keys that mlx2gguf would write without looking at tensors, and
/// for other facts the fields that most families have. For an unknown family, returns only those fields and no
/// architecture.
Facts read_facts(const hf::Config& config);

// Reads sizes from the keys of a GGUF, with the loader's defaults for absent keys.

/// Describes how llama.cpp behaves if a key or tensor ("attn_q.bias") that the family's models have is missing.
std::string_view absence(const Family& family, std::string_view name);

/// Reads `<architecture>.*` as llama.cpp's loader does, including arrays. `index` is the index of `file`, the first of
/// the set. V is the length of tokenizer.ggml.tokens, or `<architecture>.vocab_size`, or 0. Error "loader-key": the
/// first required key that is absent, zero or unusable, or a number above the loader's limit (512 layers, 512 experts).
Result<Sizes> read_gguf_sizes(const Family& family, const gguf::Index& index, const gguf::SetFile& file);

/// Excludes the last `nextn_predict_layers` blocks from the layers, as the loader does for every architecture. `sizes`
/// then describe the trunk.
void leave_out_prediction(const Family& family, const gguf::Index& index, Sizes& sizes);

/// Returns the sizes that usable keys state, without errors. For choosing a family and for summaries.
Sizes stated_gguf_sizes(const Family& family, const gguf::Index& index);

}  // namespace modelutils::arch
