// The cache of a model in four numbers, for summaries.
#pragma once

#include <optional>

#include "gguf/split_set.h"

namespace modelutils::memory {

/// What a model keeps for each token and how it slides, for summaries; nothing where it is not known or the keys are
/// not usable.
struct CacheSummary {
  u64 bytes_per_token = 0;  ///< of layers that see everything, F16
  u64 window = 0;           ///< tokens; 0: no layer slides
  u64 sliding_layers = 0, cached_layers = 0;
  u64 state_bytes = 0;  ///< recurrent, of one sequence
};
std::optional<CacheSummary> cache_summary(const gguf::SplitSet& set);

}  // namespace modelutils::memory
