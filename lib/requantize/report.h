// Reports how each tensor was converted and how much its values changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding_log.h"
#include "quantize/mix.h"
#include "tensor/types.h"
#include "transfer/value_sums.h"

namespace modelutils::requantize {

/// The error of converted values: unweighted, and weighted by importance.
struct TensorError {
  ValueSums plain;
  ValueSums weighted;  ///< only aa and dd

  void add(const TensorError& other);
};

struct QuantizedTensor {
  std::string name;
  std::vector<u64> ne;
  std::string source;  ///< its form in the source
  TensorType type = TensorType::F32;
  u64 bytes = 0;
  u64 source_bytes = 0;
  bool copied = true;     ///< the blocks are those of the source
  bool weighted = false;  ///< quantised with importance
  std::string reason;     ///< the reason for the type, if it is not the mix
  bool measured = false;  ///< `error` is valid
  TensorError error = {};
};

struct QuantizeReport {
  std::string input;
  std::string output;
  std::string architecture;
  std::string mix;                       ///< name; empty if types were chosen one by one
  std::string importance;                ///< path; empty for none
  u64 file_bytes = 0;                    ///< output size with header and padding
  std::vector<QuantizedTensor> tensors;  ///< in file order
  std::string sample;                    ///< rows that were measured to choose types; empty for none
  FindingLog remarks;
  bool dry_run = false;

  u64 bytes() const;
  u64 source_bytes() const;
  u64 elements() const;
  /// Returns the lines of a recipe that reproduces the types.
  std::vector<std::string> recipe() const;
  /// Returns the indices into `tensors` of those that were quantised, worst first.
  std::vector<std::size_t> worst_first() const;
};

}  // namespace modelutils::requantize
