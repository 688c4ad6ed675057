// --max-size and --gpu: the types that leave the least error within a number of bytes. The error of each candidate is
// measured on a fixed sample of rows; then whatever removes the most error for a byte is taken, as long as it fits.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quantize/importance.h"
#include "requantize/quantize_model.h"
#include "requantize/source.h"

namespace modelutils::requantize {

struct Budget {
  std::vector<TensorType> types;       ///< one for each tensor of the source
  const quantize::Mix* mix = nullptr;  ///< the one that is named after the type of most bytes
  std::string sample;                  ///< for the report: which rows were looked at
};

/// What the types must fit into.
struct Limits {
  /// Bytes of the file with these types.
  std::function<Result<u64>(std::span<const TensorType> types)> size_of;
  std::optional<u64> max_bytes;
  /// True if a model with these types fits into memory. Empty: no limit.
  std::function<Result<bool>(std::span<const TensorType> types)> fits_memory;
};

/// Tensors that are touched and not overridden get the best type; the others keep that of `choices`. Reproducible: the
/// sample depends on shapes alone. Errors: reading; "quantize-max-size" (not even the smallest types fit).
Result<Budget> choose_within(const Source& source, const quantize::ImportanceMatrix* matrix,
                             std::span<const quantize::MixChoice> choices, const QuantizeRequest& request,
                             const Limits& limits);

}  // namespace modelutils::requantize
