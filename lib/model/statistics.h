// Numbers that describe the values of a tensor.
#pragma once

#include "base/error.h"
#include "model/model_view.h"

namespace modelutils {

/// min, max, mean and deviation are over the finite values, and 0 if there are none.
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

/// Adds the values to what is known already, as if all had been seen at once.
void add_values(Statistics& statistics, std::span<const float> values);

/// Of all (logical, dequantised) values of a tensor, read in pieces. Errors: those of ModelView::read_values().
Result<Statistics> statistics_of(const ModelView& view, const ViewTensor& tensor);

}  // namespace modelutils
