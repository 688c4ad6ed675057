// How far tensors are apart, value by value: what model-diff --data and verify --against measure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/piece_sums.h"
#include "forms/tensor_values.h"
#include "io/progress.h"
#include "transfer/value_sums.h"

namespace modelutils {

/// Two tensors of as many elements.
struct ValuePair {
  std::function<std::unique_ptr<TensorValues>()> a;
  std::function<std::unique_ptr<TensorValues>()> b;
  u64 columns = 1;  ///< elements of a row, for the worst rows
};

struct Measurement {
  u64 elements = 0;
  bool equal_bytes = false;  ///< stored alike and equal byte for byte: nothing was decoded
  bool decoded = false;      ///< the rest is known; false for equal bytes, too
  ValueSums sums;
  u64 first = 0;  ///< element that differs first, if sums.different > 0
  float first_a = 0;
  float first_b = 0;
  std::vector<RowError> worst;  ///< rows with the largest errors, at most 3; none of rows longer than a piece
  std::string problem;          ///< why nothing is known
  std::optional<Error> error;   ///< the same, where reading failed

  bool equal_values() const { return equal_bytes || (decoded && sums.different == 0); }
};

struct MeasureOptions {
  unsigned threads = 1;
  Progress* progress = nullptr;  ///< counts bytes of both sides
};

/// Measures every pair. Memory: some MiB for each thread, whatever the tensors are. The result does not depend on the
/// number of threads.
std::vector<Measurement> measure(std::span<const ValuePair> pairs, const MeasureOptions& options);

}  // namespace modelutils
