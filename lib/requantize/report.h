// What was done to each tensor, and how far its values moved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding_log.h"
#include "quantize/mix.h"
#include "tensor/types.h"
#include "transfer/value_sums.h"

namespace modelutils::requantize {

/// Between values and what they became: as they are, and with the weights of their importance.
struct TensorError {
  ValueSums plain;
  ValueSums weighted;  ///< aa and dd alone

  void add(const TensorError& other);
};

struct QuantizedTensor {
  std::string name;
  std::vector<u64> ne;
  std::string source;  ///< form in the source
  TensorType type = TensorType::F32;
  u64 bytes = 0;
  u64 source_bytes = 0;
  bool copied = true;     ///< its blocks are those of the source
  bool weighted = false;  ///< with importance
  std::string reason;     ///< why this type, where the mix does not say
  bool measured = false;  ///< `error` holds numbers
  TensorError error = {};
};

struct QuantizeReport {
  std::string input;
  std::string output;
  std::string architecture;
  std::string mix;                       ///< name; empty where types were chosen one by one
  std::string importance;                ///< path; empty: none
  u64 file_bytes = 0;                    ///< of the output, header and padding included
  std::vector<QuantizedTensor> tensors;  ///< in the order of the file
  std::string sample;                    ///< which rows were looked at to choose types; empty: none
  FindingLog remarks;
  bool dry_run = false;

  u64 bytes() const;
  u64 source_bytes() const;
  u64 elements() const;
  /// Lines of a recipe that gives the same types again.
  std::vector<std::string> recipe() const;
  /// Tensors that were quantised, the worst first: indexes into `tensors`.
  std::vector<std::size_t> worst_first() const;
};

}  // namespace modelutils::requantize
