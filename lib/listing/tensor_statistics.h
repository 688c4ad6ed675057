// The statistics of many tensors: what --stats of the dumpers shows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "listing/value_source.h"
#include "model/statistics.h"

namespace modelutils {

/// The statistics of one tensor, or why there are none.
struct TensorStatistics {
  const ValueSource* tensor = nullptr;
  Statistics statistics;
  std::string problem;  ///< instead of statistics: it cannot be read, or its type has no decoder
};

/// Of each tensor, in the same order. The sources must outlive the result. Errors: those of reading.
Result<std::vector<TensorStatistics>> statistics_of(std::span<const ValueSource> tensors,
                                                    unsigned threads = default_threads());

}  // namespace modelutils
