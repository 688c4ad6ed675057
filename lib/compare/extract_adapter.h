// Extracts a LoRA adapter from the difference of two models: the best low-rank approximation of each changed matrix.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "io/standard_output.h"

namespace modelutils {

struct ExtractOptions {
  std::string base;                          ///< a directory with the tensor names of transformers or mlx-lm
  std::string finetune;                      ///< the same
  std::string output;                        ///< directory to create, in PEFT's form
  u64 rank = 0;                              ///< at least 1
  std::vector<std::string> ignored_tensors;  ///< globs; matching tensors are skipped silently
  bool force = false;
};

struct ExtractedTensor {
  std::string module;
  u64 rows = 0, columns = 0;
  double error = 0;   ///< relative RMS error of the product against the change
  double energy = 0;  ///< fraction of the change's sum of squares that the product has
};

struct ExtractReport {
  std::string base, finetune, output;
  u64 rank = 0;
  std::vector<ExtractedTensor> tensors;
  u64 unchanged = 0;     ///< matrices
  u64 bytes = 0;         ///< written
  double energy = 0;     ///< the same for all changes together
  FindingLog remarks{};  ///< differences that an adapter cannot hold
};

/// Finds and writes the pairs of all matrices that differ. alpha equals the rank, so the scale is 1. Memory: two
/// matrices. Errors of kind input: "adapter-extract" (a model is not a directory of tensors, no matrix differs, or
/// values are not finite); those of open_sound_model(), reading and AtomicDirectory.
Result<ExtractReport> extract_adapter(const ExtractOptions& options, Progress& progress);

}  // namespace modelutils
