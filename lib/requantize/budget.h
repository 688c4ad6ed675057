// --max-size and --gpu: chooses the types with the least error within a number of bytes. Measures the error of each
// candidate on a fixed sample of rows, then repeatedly takes the change that removes the most error per byte, as long
// as it fits.
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
  std::vector<TensorType> types;       ///< one per tensor of the source
  const quantize::Mix* mix = nullptr;  ///< the mix named after the type with the most bytes
  std::string sample;                  ///< for the report: the rows that were measured
};

/// The limits that the chosen types must meet.
struct Limits {
  /// Returns the size of the file in bytes with these types.
  std::function<Result<u64>(std::span<const TensorType> types)> size_of;
  std::optional<u64> max_bytes;
  /// True if a model with these types fits into memory. Empty for no limit.
  std::function<Result<bool>(std::span<const TensorType> types)> fits_memory;
};

/// Chooses the best types for tensors that are touched and not overridden; the others keep those in `choices`.
/// Reproducible: the sample only depends on shapes. Errors: those of reading; "quantize-max-size" (even the smallest
/// types do not fit).
Result<Budget> choose_within(const Source& source, const quantize::ImportanceMatrix* matrix,
                             std::span<const quantize::MixChoice> choices, const QuantizeRequest& request,
                             const Limits& limits);

}  // namespace modelutils::requantize
