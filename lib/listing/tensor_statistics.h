// Statistics of many tensors, for --stats of the dumpers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "listing/value_source.h"
#include "model/statistics.h"

namespace modelutils {

inline constexpr std::size_t histogram_bins = 16;

/// The statistics of one tensor, or the reason for their absence.
struct TensorStatistics {
  const ValueSource* tensor = nullptr;
  Statistics statistics;
  u64 dead_rows = 0;   ///< rows of a matrix that contain only zeros
  std::string digest;  ///< digest of shape and values; empty if all values are the same or there are none
  const TensorStatistics* duplicate_of = nullptr;  ///< the first tensor with the same shape and values
  std::vector<u64> histogram;  ///< counts of finite values in equal steps between min and max; empty if min equals max
  std::string problem;         ///< set instead of statistics: the tensor cannot be read, or its type has no decoder
};

/// Returns the statistics in the order of `tensors`; reads all data twice. The sources must outlive the result. Errors:
/// those of reading.
Result<std::vector<TensorStatistics>> statistics_of(std::span<const ValueSource> tensors,
                                                    unsigned threads = default_threads());

}  // namespace modelutils
