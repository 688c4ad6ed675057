// A summary of a model's cache in a few numbers.
#pragma once

#include <optional>

#include "arch/facts.h"

namespace modelutils::memory {

/// The cache size per token, the sliding window and the recurrent state. cache_summary() returns nullopt if the
/// architecture is unknown or the keys are unusable.
struct CacheSummary {
  u64 bytes_per_token = 0;  ///< of layers with full attention, F16
  u64 window = 0;           ///< in tokens; 0: no layer slides
  u64 sliding_layers = 0, cached_layers = 0;
  u64 state_bytes = 0;  ///< recurrent state of one sequence
};
std::optional<CacheSummary> cache_summary(const arch::Facts& stated);

}  // namespace modelutils::memory
