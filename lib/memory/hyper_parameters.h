// What the memory of a model depends on, from its keys, with the runtime's defaults for those that may be missing
// (docs/memory.md, "Rules").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/cache_facts.h"
#include "base/error.h"
#include "gguf/split_set.h"

namespace modelutils::memory {

/// All vectors have one element for each block.
struct HyperParameters {
  std::string architecture;
  const arch::CacheFacts* facts = nullptr;  ///< never null
  u64 blocks = 0;                           ///< block_count
  u64 trunk = 0;                            ///< blocks without those that predict further tokens
  u64 embedding = 0;
  std::optional<u64> trained_context;
  std::vector<u64> heads, kv_heads, feed_forward;
  u64 key_length = 0, value_length = 0;                  ///< of a head; with latent attention of the shared vector
  u64 key_length_sliding = 0, value_length_sliding = 0;  ///< of a head in layers with a window
  bool is_latent = false;                                ///< keys and values in one vector
  u64 key_length_latent = 0;                             ///< of a query head then

  u64 window = 0;            ///< tokens; 0: none
  bool has_windows = false;  ///< there are two caches, even if no layer slides
  std::vector<bool> slides;
  std::vector<bool> is_recurrent;
  u64 rolling = 0;  ///< f32 numbers that a recurrent layer keeps of the last tokens
  u64 state = 0;    ///< and of all of them

  u64 own_layers = 0;  ///< only so many of the first blocks have keys and values of their own
  u64 indexer_key = 0;
  std::vector<bool> has_indexer;
  std::vector<u64> compression;  ///< tokens that become one; 0: none

  // For the estimate of compute buffers.
  u64 vocabulary = 0;
  u64 experts = 0, experts_used = 0, expert_width = 0, shared_width = 0;
  u64 indexer_heads = 0, hyper_connections = 0, layer_input = 0, state_width = 0;

  /// Elements of a layer's keys and values for one token; below 2^64 by the limits of the keys.
  u64 k_elements(std::size_t layer) const;
  u64 v_elements(std::size_t layer) const;
};

/// Reads the keys of a model; nothing if its architecture is not known. `needs_context`: context_length is to say how
/// long the context is. Errors: "fit-key", "fit-layers" (KeyReader); those of reading.
Result<std::optional<HyperParameters>> read_hyper_parameters(const gguf::SplitSet& set, bool needs_context);

}  // namespace modelutils::memory
