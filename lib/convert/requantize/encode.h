// Quantises the values of planned tensors: reads, decodes, quantises, checks and measures them piece by piece. For
// --max-size and --gpu it first measures each candidate type on a fixed sample of rows, then repeatedly takes the
// change that removes the most error per byte, as long as it fits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "convert/requantize/plan.h"
#include "convert/requantize/quantize_model.h"
#include "convert/requantize/source.h"
#include "formats/imatrix/importance.h"

namespace modelutils::requantize {

// --max-size and --gpu: chooses the types with the least error within a number of bytes. Measures the error of each
// candidate on a fixed sample of rows, then repeatedly takes the change that removes the most error per byte, as long
// as it fits.

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
/// types do not fit). Restarts `progress` with the number of bytes to read.
Result<Budget> choose_within(const Source& source, const quantize::ImportanceMatrix* matrix,
                             std::span<const quantize::MixChoice> choices, const QuantizeRequest& request,
                             const Limits& limits, Progress& progress);

class TensorEncoder {
 public:
  TensorEncoder(const QuantizePlan& plan, const QuantizeRequest& request);

  /// Implements TakeRows for sources that can only be read once. Errors: those of reading.
  Status take(std::size_t tensor, u64 first, u64 count, unsigned thread);

  /// Implements EncodeRows. Errors: those of reading; "quantize-not-finite", "quantize-overflow", "quantize-inexact",
  /// "imatrix-not-finite".
  Status encode(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread);

  /// Adds the errors and observations to the report. The sums do not depend on the number of threads.
  void settle(QuantizeReport& report);

 private:
  struct Worker {
    std::vector<std::byte> taken;  // rows of the chunk, if the source can only be read once
    u64 first_taken = 0;
    std::vector<std::byte> rows;
    std::vector<float> values;
    std::vector<float> carried;
    std::size_t tensor = ~std::size_t{0};  // the tensor that `weights` belong to
    std::shared_ptr<const std::vector<float>> weights;
  };

  Status encode_piece(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out, Worker& worker,
                      unsigned thread, TensorError& error);
  Status copy_piece(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out, unsigned thread);
  Status read(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out, unsigned thread) const;
  Result<std::shared_ptr<const std::vector<float>>> weights_of(std::size_t tensor);

  const QuantizePlan& plan_;
  const QuantizeRequest& request_;
  std::vector<Worker> workers_;
  std::vector<std::atomic<bool>> misplaced_;  // per tensor: true if IQ3_S met a group of zeros that ggml misplaces
  std::mutex mutex_;
  std::map<std::pair<std::size_t, u64>, TensorError> errors_;  // by tensor and first row
  std::map<std::size_t, std::weak_ptr<const std::vector<float>>> weights_;
};

}  // namespace modelutils::requantize
