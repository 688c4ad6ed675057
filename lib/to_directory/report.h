// What gguf2mlx did to each tensor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding_log.h"
#include "transfer/conversion_report.h"

namespace modelutils::to_directory {

struct DirectoryTensorReport {
  std::string name;                  ///< in the directory (of packed ones: the weight's)
  std::string source;                ///< names in the GGUF, joined by " + "; "key" of a number that a key holds
  std::string source_type;           ///< their types, each once
  std::string form;                  ///< "affine 4-bit, group 64, F16 scales", "BF16"
  std::vector<u64> shape;            ///< logical
  u64 bytes = 0;                     ///< with scales and biases
  std::optional<bool> exact = true;  ///< nothing: a dry run did not measure it
  std::optional<double> rms = 0.0;   ///< relative; nothing where it was not measured
  std::string reason;
};

struct DirectoryReport {
  std::string input, output, architecture, model_type;
  std::vector<OutputFile> files;  ///< with weights; then those without tensors
  std::vector<DirectoryTensorReport> tensors;
  std::vector<std::string> left_out;  ///< tensors that became none, with the reason
  std::vector<std::string> assumed;   ///< what of config.json no key says
  FindingLog remarks;
  bool dry_run = false;

  u64 inexact_tensors() const;
  u64 unmeasured_tensors() const;
  u64 bytes() const;
};

}  // namespace modelutils::to_directory
