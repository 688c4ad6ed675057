// The values of a tensor, and statistics of all tensors: --values and --stats of the dumpers.
#pragma once

#include <optional>
#include <span>

#include "base/parallel.h"
#include "io/text_output.h"
#include "model/model_view.h"

namespace modelutils {

struct ValuesOptions {
  std::optional<u64> count;  ///< at most so many, from the first on
  bool json = false;         ///< {"schema":"values/1","name","type","shape","values":[…]} on one line
  bool raw = false;          ///< the stored words as unsigned numbers, not what they mean
};

/// Prints values, one a line: floats as the shortest decimals that read back to the same float32 (F64: the same
/// double), integers as they are. The shape is in the order of the model's own format. Errors: those of reading,
/// "tensor-no-decoder".
Status write_values(TextOutput& out, const ModelView& view, const ViewTensor& tensor, const ValuesOptions& options);

/// Prints count, min, max, mean, standard deviation, zeros, NaN and Inf of each tensor; with `json` one object a line
/// ("stats/1"). Tensors without a decoder are listed without numbers. Errors: those of reading.
Status write_statistics(TextOutput& out, const ModelView& view, std::span<const ViewTensor* const> tensors, bool json,
                        unsigned threads = default_threads());

}  // namespace modelutils
