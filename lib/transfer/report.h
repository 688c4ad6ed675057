// What became of each tensor: source form, target form, exact or the measured error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "model/left_out.h"

namespace modelutils {

struct TensorReport {
  std::string name;                  ///< in the target (of packed ones: the weight's)
  std::string source;                ///< names in the source: the first, or all joined by " + "; "generated", "key"
  std::string source_form;           ///< "affine 4-bit, group 64, F16 scales", "BF16", "Q4_K + Q6_K"
  std::string form;                  ///< in the target: a type's name, or a form of MLX
  std::vector<u64> shape;            ///< logical, in the target's order
  u64 bytes = 0;                     ///< with scales and biases
  std::optional<bool> exact = true;  ///< nothing: a dry run did not measure it
  std::string reason;                ///< why the form was chosen where that is not obvious, and what is inexact
  std::optional<double> rms;         ///< relative; nothing where it is not known
  std::optional<double> max_abs;     ///< the same
};

struct OutputFile {
  std::string path;
  u64 bytes = 0;
  u64 tensors = 0;
};

/// Which tool reports, and so what its report is called and says.
enum class ReportKind : u8 { mlx2gguf, gguf2mlx };

struct TransferReport {
  ReportKind kind = ReportKind::mlx2gguf;
  std::string input, output;  ///< `output`: a directory
  std::string architecture;
  std::string name;               ///< mlx2gguf: of the model
  std::string model_type;         ///< gguf2mlx
  std::vector<OutputFile> files;  ///< with weights; then those without tensors
  std::vector<TensorReport> tensors;
  std::vector<LeftOut> left_out;     ///< tensors that were not carried
  std::vector<std::string> assumed;  ///< what of config.json no key says
  FindingLog remarks;                ///< warnings and notes of all steps
  bool dry_run = false;

  u64 inexact_tensors() const;
  u64 unmeasured_tensors() const;
  u64 bytes() const;
};

}  // namespace modelutils
