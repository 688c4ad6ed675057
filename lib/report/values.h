// The values of a tensor, and statistics of all tensors: --values and --stats of the dumpers.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "io/text_output.h"
#include "listing/tensor_statistics.h"
#include "listing/value_source.h"
#include "report/style.h"
#include "report/value_slice.h"

namespace modelutils {

struct ValuesOptions {
  std::optional<u64> count;              ///< at most so many, from the first on
  bool json = false;                     ///< {"schema":"values/1","name","type","shape","values":[…]} on one line
  bool raw = false;                      ///< the stored words as unsigned numbers, not what they mean
  std::string path = {};                 ///< the model's, to be told where several are shown; else empty
  std::optional<ValueSlice> slice = {};  ///< only this part; not with `raw`
};

struct StatisticsOptions {
  bool json = false;  ///< "stats/1", one object a line
  bool csv = false;
  bool first = true;      ///< with csv: with a heading
  std::string path = {};  ///< as above
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
};

/// Prints values, one a line: floats as the shortest decimals that read back to the same float32 (F64: the same
/// double), integers as they are. Errors: those of reading, "tensor-no-decoder".
Status write_values(TextOutput& out, const ValueSource& tensor, const ValuesOptions& options);

/// Prints count, min, max, mean, standard deviation, zeros, NaN and Inf of each tensor; instead of them what is wrong
/// where there are none.
void write_statistics(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options);

}  // namespace modelutils
