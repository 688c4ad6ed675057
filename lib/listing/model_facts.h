// The summary of a model in two dozen numbers, for any format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "listing/adapter_facts.h"
#include "memory/cache_summary.h"
#include "template/capabilities.h"
#include "tensor/types.h"

namespace modelutils {

/// All tensors of one type.
struct TypeTotal {
  std::string name;                ///< "Q4_K"; for an unknown type its number
  std::optional<TensorType> type;  ///< nullopt for an unknown type
  u64 tensors = 0;
  std::optional<u64> bytes;  ///< without padding; nullopt if a size is unknown
  std::optional<u64> parameters;
};

/// A range, because head counts may differ between layers (an array).
struct Range {
  u64 low = 0;
  u64 high = 0;
};

/// A size of a recurrent layer.
struct NamedNumber {
  std::string_view name;  ///< "state", "convolution"
  u64 number = 0;
};

/// A token to which a key assigns a role.
struct NamedToken {
  std::string_view role;  ///< "eos"
  std::string_view key;   ///< "tokenizer.ggml.eos_token_id"
  u64 id = 0;
  std::string text;  ///< raw text of the file
};

/// A chat template.
struct NamedTemplate {
  std::string_view name;  ///< raw text of the file; empty for the default template
  u64 bytes = 0;
};

/// Texts are raw text of the file. Facts that the model does not state are empty.
struct ModelFacts {
  std::string architecture;  ///< general.architecture; for a config.json architectures[0], otherwise model_type
  std::string name;
  std::vector<std::string>
      companion;  ///< the kind of a file that accompanies a model (listing/gguf_companion.h); empty for models
  std::optional<AdapterFacts> adapter;  ///< set for LoRA adapters
  std::string mix;                      ///< name of general.file_type, e.g. "Q4_K_M"; empty if not stated
  std::string tokenizer;                ///< tokenizer.ggml.model
  std::string tokenizer_pre;
  std::vector<NamedToken> tokens;  ///< set for listings for people
  std::optional<u64> layers, context, embedding, head_dim, vocabulary, experts, experts_used;
  std::optional<Range> feed_forward, heads, heads_kv;
  std::optional<memory::CacheSummary> cache;      ///< nullopt if the architecture's cache layout is unknown
  std::optional<u64> query_rank, key_value_rank;  ///< of latent attention (MLA)
  std::vector<NamedNumber> recurrent;             ///< sizes of recurrent states and short convolutions
  std::string rope_scaling;                       ///< "yarn", "linear" …
  std::optional<double> rope_factor;
  std::optional<u64> rope_original_context;

  std::vector<NamedTemplate> templates;              ///< views into the opened model
  std::optional<jinja::Capabilities> chat_template;  ///< nullopt if there is no template or it does not parse

  u64 tensors = 0;
  std::optional<u64> parameters;          ///< elements of all tensors; nullopt on overflow
  std::optional<u64> active_parameters;   ///< counts only the experts that a token uses; nullopt without experts
  std::optional<u64> tensor_bytes;        ///< nullopt if a size is unknown
  std::optional<double> bits_per_weight;  ///< 8 × tensor_bytes / parameters
  std::vector<TypeTotal> types;           ///< in the order of their first tensors
  std::optional<u64> file_size;           ///< total over all files; nullopt for a pipe
};

}  // namespace modelutils
