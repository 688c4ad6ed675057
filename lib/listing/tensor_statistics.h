// The statistics of many tensors: what --stats of the dumpers shows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "listing/value_source.h"
#include "model/statistics.h"

namespace modelutils {

inline constexpr std::size_t histogram_bins = 16;

/// The statistics of one tensor, or why there are none.
struct TensorStatistics {
  const ValueSource* tensor = nullptr;
  Statistics statistics;
  u64 dead_rows = 0;   ///< of a matrix: those that have only zeros
  std::string digest;  ///< of shape and values; empty where all values are the same one, or none is there
  const TensorStatistics* duplicate_of = nullptr;  ///< the first tensor of the same shape and values
  std::vector<u64> histogram;  ///< of the finite values, between min and max in equal steps; empty if these are equal
  std::string problem;         ///< instead of statistics: it cannot be read, or its type has no decoder
};

/// Of each tensor, in the same order; reads everything twice. The sources must outlive the result. Errors: those of
/// reading.
Result<std::vector<TensorStatistics>> statistics_of(std::span<const ValueSource> tensors,
                                                    unsigned threads = default_threads());

}  // namespace modelutils
