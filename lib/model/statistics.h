// Statistics of a tensor's values.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// Minimum, maximum, mean and deviation are those of the finite values; 0 if there are none.
struct Statistics {
  u64 count = 0;  ///< all values, finite or not
  u64 zeros = 0;
  u64 nans = 0;
  u64 infs = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;  ///< standard deviation of the population

  u64 finite() const { return count - nans - infs; }
};

/// Adds values, with the same result as if all had been added at once.
void add_values(Statistics& statistics, std::span<const float> values);

/// Returns the statistics of all `elements` values of a tensor, read in pieces by read(first, std::span<float>) ->
/// Status.
template <typename Read>
Result<Statistics> statistics_of(u64 elements, Read&& read) {
  constexpr u64 piece = 16 * 1024;  // stays in the first cache levels
  Statistics statistics;
  std::vector<float> values;
  for (u64 first = 0; first < elements; first += values.size()) {
    values.resize(std::min(piece, elements - first));
    MU_TRY(read(first, std::span(values)));
    add_values(statistics, values);
  }
  return statistics;
}

}  // namespace modelutils
