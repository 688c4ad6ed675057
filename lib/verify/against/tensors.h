// verify --against, tensor by tensor: what every pair of formats has in common.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/finding_log.h"
#include "forms/tensor_values.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// A tensor that the source says the converted file must have.
struct ExpectedSource {
  std::string name;
  std::vector<u64> ne;  ///< contiguous dimension first
  std::function<std::unique_ptr<TensorValues>()> values;
  /// Could a tensor of this type hold every value? Errors: reading.
  std::function<Result<bool>(TensorType type)> is_exact_form;
};

/// Two tensors that should hold the same values.
struct ParityPair {
  std::string name;
  std::function<std::unique_ptr<TensorValues>()> source;
  std::function<std::unique_ptr<TensorValues>()> converted;
  /// Could the converted form hold every value? Asked only where values differ. Errors: reading.
  std::function<Result<bool>()> is_exact_form;
  std::string form;  ///< of the converted tensor, for messages
};

/// Adds what differs to `log`: the findings "parity-value", "parity-inexact" and "parity-type" of
/// compare_with_sources().
Status compare_pairs(std::span<const ParityPair> pairs, FindingLog& log);

/// Findings of scope model: "parity-missing", "parity-extra", "parity-shape", "parity-type" (errors); "parity-value"
/// names the first value that differs in a tensor whose form is exact (error); "parity-inexact" gives the relative RMS
/// error of the others (a note up to 1 %, else an error). Errors: reading.
Result<FindingLog> compare_with_sources(std::span<const ExpectedSource> sources, const Catalog& converted);

}  // namespace modelutils
