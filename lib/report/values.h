// The values of a tensor, and statistics for all tensors: --values and --stats of the dumpers.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "io/text_output.h"
#include "listing/tensor_statistics.h"
#include "report/style.h"
#include "report/value_slice.h"

namespace modelutils {

struct ValuesOptions {
  std::optional<u64> count;              ///< print at most this many values
  bool json = false;                     ///< {"schema":"values/1","name","type","shape","values":[…]} on one line
  bool raw = false;                      ///< print the stored words as unsigned integers instead of decoded values
  std::string path = {};                 ///< the model's path if several models are shown; otherwise empty
  std::optional<ValueSlice> slice = {};  ///< print only this slice; not combined with `raw`
};

struct StatisticsOptions {
  bool json = false;  ///< "stats/1", one object per line
  bool csv = false;
  bool first = true;      ///< with csv: print the heading
  std::string path = {};  ///< as in ValuesOptions
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
};

/// Prints one value per line: floats as the shortest decimals that read back to the same float32 (F64: the same
/// double), integers in decimal. The tensor must be readable. Errors: those of reading, "tensor-no-decoder".
Status write_values(TextOutput& out, const Model& model, const Tensor& tensor, const ValuesOptions& options);

/// Prints count, min, max, mean, standard deviation, zeros, NaN and Inf of each tensor; for a tensor without statistics
/// the reason instead.
void write_statistics(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options);

}  // namespace modelutils
