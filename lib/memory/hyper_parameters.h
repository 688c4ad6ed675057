// The hyper-parameters that determine a model's memory: what the model states, with the runtime's defaults for optional
// keys (docs/memory.md, "Rules").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/cache_facts.h"
#include "arch/facts.h"
#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::memory {

/// All vectors have one element per block.
struct HyperParameters {
  std::string architecture;
  const arch::CacheFacts* facts = nullptr;  ///< never null
  u64 blocks = 0;                           ///< block_count
  u64 trunk = 0;                            ///< blocks without the multi-token prediction blocks
  u64 embedding = 0;
  std::optional<u64> trained_context;
  std::vector<u64> heads, kv_heads, feed_forward;
  u64 key_length = 0, value_length = 0;                  ///< per head; with latent attention, of the shared vector
  u64 key_length_sliding = 0, value_length_sliding = 0;  ///< per head, in layers with a sliding window
  bool is_latent = false;                                ///< keys and values share one latent vector
  u64 key_length_latent = 0;                             ///< of a query head with latent attention

  u64 window = 0;            ///< in tokens; 0: none
  bool has_windows = false;  ///< there are two caches, even if no layer slides
  std::vector<bool> slides;
  std::vector<bool> is_recurrent;
  u64 rolling = 0;  ///< number of f32 values that a recurrent layer keeps of the last tokens
  u64 state = 0;    ///< number of f32 values of its state

  u64 own_layers = 0;  ///< only this many of the first blocks have their own keys and values
  u64 indexer_key = 0;
  std::vector<bool> has_indexer;
  std::vector<u64> compression;  ///< tokens per compressed cell; 0: not compressed

  // For the estimate of compute buffers.
  u64 vocabulary = 0;
  u64 experts = 0, experts_used = 0, expert_width = 0, shared_width = 0;
  u64 indexer_heads = 0, hyper_connections = 0, layer_input = 0, state_width = 0;

  /// Elements of a layer's keys or values for one token. The limits of the keys keep this below 2^64.
  u64 k_elements(std::size_t layer) const;
  u64 v_elements(std::size_t layer) const;
};

/// Reads the hyper-parameters; nullopt if the architecture is unknown. `needs_context`: context_length is required,
/// because it determines the context. Errors: "fit-key" and "fit-layers" (memory/fact_values.h).
Result<std::optional<HyperParameters>> read_hyper_parameters(const arch::Facts& stated, bool needs_context);
/// Like read_hyper_parameters() for facts, from the keys of a file. Further errors: read errors.
Result<std::optional<HyperParameters>> read_hyper_parameters(const gguf::SplitSet& set, bool needs_context);

}  // namespace modelutils::memory
