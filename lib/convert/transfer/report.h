// The result of a conversion for each tensor: source form, target form, and whether it is exact or the measured error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/types.h"
#include "model/hf_model.h"

namespace modelutils {

struct TensorReport {
  std::string name;                  ///< in the target; for a quantised tensor, its weight's name
  std::string source;                ///< name in the source; several are joined by " + " or only the first is given;
                                     ///< "generated" or "key" without one
  std::string source_form;           ///< "affine 4-bit, group 64, F16 scales", "BF16", "Q4_K + Q6_K"
  std::string form;                  ///< in the target: a type's name or an MLX form
  std::vector<u64> shape;            ///< logical shape, in the target's order
  u64 bytes = 0;                     ///< including scales and biases
  std::optional<bool> exact = true;  ///< nullopt: not measured, in a dry run
  std::string reason;                ///< explains a form that is not obvious, and what is inexact
  std::optional<double> rms;         ///< relative; nullopt if unknown
  std::optional<double> max_abs;     ///< nullopt if unknown
  std::string file = {};             ///< pt2st, st-edit: base name of its file
};

struct OutputFile {
  std::string path;
  u64 bytes = 0;
  u64 tensors = 0;
};

/// The tool that reports, which determines the report's title and contents.
enum class ReportKind : u8 { mlx2gguf, gguf2mlx, pt2st, st_edit };

struct TransferReport {
  ReportKind kind = ReportKind::mlx2gguf;
  std::string input, output;  ///< `output` is a directory, or a file of pt2st
  std::string architecture;
  std::string name;               ///< mlx2gguf: the model's name
  std::string model_type;         ///< gguf2mlx
  std::vector<OutputFile> files;  ///< files with weights, followed by those without tensors
  std::vector<TensorReport> tensors;
  std::vector<LeftOut> left_out;     ///< tensors that were not converted
  std::vector<std::string> assumed;  ///< settings of config.json that no GGUF key provides
  /// pt2st: tensors omitted because they share the elements of another: the omitted name and the written one.
  std::vector<std::pair<std::string, std::string>> shared;
  std::string wrapper;  ///< pt2st: prefix removed from the names; empty if there is none
  FindingLog remarks;   ///< warnings and notes of all steps
  bool dry_run = false;

  /// Counts of tensors known to be inexact, and of tensors without a measurement.
  u64 inexact_tensors() const;
  u64 unmeasured_tensors() const;
  /// Total size of the output files.
  u64 bytes() const;
};

}  // namespace modelutils
