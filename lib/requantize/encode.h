// Values of planned tensors as blocks: read, decoded, quantised, checked and measured a piece at a time.
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

  /// TakeRows, for sources that can be read once. Errors: reading.
  Status take(std::size_t tensor, u64 first, u64 count, unsigned thread);

  /// EncodeRows. Errors: reading; "quantize-not-finite", "quantize-overflow", "quantize-inexact",
  /// "imatrix-not-finite".
  Status encode(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread);

  /// Puts the errors, and what was seen, into the report. The sums do not depend on the number of threads.
  void settle(QuantizeReport& report);

 private:
  struct Worker {
    std::vector<std::byte> taken;  // rows of the chunk, of a source that can be read once
    u64 first_taken = 0;
    std::vector<std::byte> rows;
    std::vector<float> values;
    std::vector<float> carried;
    std::size_t tensor = ~std::size_t{0};  // whose weights these are
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
  std::vector<std::atomic<bool>> misplaced_;  // of each tensor: IQ3_S after a group of zeros
  std::mutex mutex_;
  std::map<std::pair<std::size_t, u64>, TensorError> errors_;  // by tensor and first row
  std::map<std::size_t, std::weak_ptr<const std::vector<float>>> weights_;
};

}  // namespace modelutils::requantize
