// What a conversion did to each tensor: source form, GGUF type, exact or the measured error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "tensor/types.h"

namespace modelutils {

/// Measured against the exact float32 values.
struct MeasuredError {
  double squared_error = 0;  ///< sum of squared differences
  double squared_value = 0;  ///< sum of squared exact values
  double max_abs = 0;        ///< largest absolute difference

  void add(const MeasuredError& other);
  /// sqrt(squared_error / squared_value); 0 if there is no error.
  double relative_rms() const;
};

struct TensorReport {
  std::string name;    ///< GGUF name
  std::string source;  ///< name in the directory (of the first part), or "generated"
  std::string form;    ///< "affine 4-bit, group 64, F16 scales", "BF16", …
  TensorType type = TensorType::F32;
  std::vector<u64> ne;
  u64 bytes = 0;
  std::optional<bool> exact = true;  ///< nothing: a dry run did not measure it
  std::string reason;                ///< why the type was chosen where that is not obvious, and what is inexact
  bool measured = false;             ///< `error` holds numbers (not in a dry run)
  MeasuredError error;
};

struct OutputFile {
  std::string path;
  u64 bytes = 0;
  u64 tensors = 0;
};

struct ConversionReport {
  std::string input;
  std::string architecture;
  std::string name;
  std::vector<OutputFile> files;
  std::vector<TensorReport> tensors;
  std::vector<std::string> left_out;  ///< tensors that were not carried, with the reason
  FindingLog remarks;                 ///< warnings and notes of all steps
  bool dry_run = false;

  u64 inexact_tensors() const;
  u64 unmeasured_tensors() const;
  u64 bytes() const;
};

}  // namespace modelutils
