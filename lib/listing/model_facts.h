// What a model is, in two dozen numbers: the first thing that a person wants to know of it, whatever its format.
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
  std::string name;                ///< "Q4_K"; the number for ids that the table does not have
  std::optional<TensorType> type;  ///< nothing for those
  u64 tensors = 0;
  std::optional<u64> bytes;  ///< without padding; nothing if the size of one is not known
  std::optional<u64> parameters;
};

/// Head counts may differ from layer to layer (an array).
struct Range {
  u64 low = 0;
  u64 high = 0;
};

/// A size of a recurrent layer.
struct NamedNumber {
  std::string_view name;  ///< "state", "convolution"
  u64 number = 0;
};

/// A token that a key gives a role.
struct NamedToken {
  std::string_view role;  ///< "eos"
  std::string_view key;   ///< "tokenizer.ggml.eos_token_id"
  u64 id = 0;
  std::string text;  ///< raw text of the file
};

/// A chat template.
struct NamedTemplate {
  std::string_view name;  ///< raw text of the file; empty for the one that is used unless another is asked for
  u64 bytes = 0;
};

/// Text is raw text of the file; what is not stated is empty.
struct ModelFacts {
  std::string architecture;  ///< general.architecture; of a config.json architectures[0], else model_type
  std::string name;
  std::vector<std::string>
      companion;  ///< what a file is that goes with a model (listing/gguf_companion.h); empty for models
  std::optional<AdapterFacts> adapter;  ///< of LoRA adapters
  std::string mix;                      ///< name of general.file_type, e.g. "Q4_K_M"; empty if not stated
  std::string tokenizer;                ///< tokenizer.ggml.model
  std::string tokenizer_pre;
  std::vector<NamedToken> tokens;  ///< of listings for people
  std::optional<u64> layers, context, embedding, head_dim, vocabulary, experts, experts_used;
  std::optional<Range> feed_forward, heads, heads_kv;
  std::optional<memory::CacheSummary> cache;      ///< nothing where the runtime of the architecture is not known
  std::optional<u64> query_rank, key_value_rank;  ///< of latent attention (MLA)
  std::vector<NamedNumber> recurrent;             ///< sizes of recurrent states and short convolutions
  std::string rope_scaling;                       ///< "yarn", "linear" …
  std::optional<double> rope_factor;
  std::optional<u64> rope_original_context;

  std::vector<NamedTemplate> templates;              ///< views into the opened model
  std::optional<jinja::Capabilities> chat_template;  ///< nothing without one that parses

  u64 tensors = 0;
  std::optional<u64> parameters;          ///< elements of all tensors; nothing on overflow
  std::optional<u64> active_parameters;   ///< the same with the used experts alone; nothing without experts
  std::optional<u64> tensor_bytes;        ///< nothing if a size is not known
  std::optional<double> bits_per_weight;  ///< 8 × tensor_bytes / parameters
  std::vector<TypeTotal> types;           ///< in the order of their first tensor
  std::optional<u64> file_size;           ///< of all files; nothing for a pipe
};

}  // namespace modelutils
