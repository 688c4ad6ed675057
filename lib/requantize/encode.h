// Quantises the values of planned tensors: reads, decodes, quantises, checks and measures them piece by piece.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "requantize/plan.h"

namespace modelutils::requantize {

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
