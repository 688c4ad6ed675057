// An adapter that makes one model of another: what LoRA changed, found again by the best products of a rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "io/standard_output.h"

namespace modelutils {

struct ExtractOptions {
  std::string base;                          ///< a directory, with names as transformers or mlx-lm give them
  std::string finetune;                      ///< the same
  std::string output;                        ///< directory of the adapter, in PEFT's form
  u64 rank = 0;                              ///< from 1 on
  std::vector<std::string> ignored_tensors;  ///< globs: left out without a word
  bool force = false;
};

struct ExtractedTensor {
  std::string module;
  u64 rows = 0, columns = 0;
  double error = 0;   ///< relative RMS, of the change
  double energy = 0;  ///< of the change, the part that the product has
};

struct ExtractReport {
  std::string base, finetune, output;
  u64 rank = 0;
  std::vector<ExtractedTensor> tensors;
  u64 unchanged = 0;     ///< matrices
  u64 bytes = 0;         ///< written
  double energy = 0;     ///< of all changes together
  FindingLog remarks{};  ///< what differs and has no place in an adapter
};

/// Finds and writes the pairs of all matrices that differ; alpha is the rank, so that the product counts once. Memory:
/// two matrices. Errors of kind input: "adapter-extract" (a model that is not a directory of tensors, no matrix that
/// differs, values that are not finite); those of open_sound_model(), reading and AtomicDirectory.
Result<ExtractReport> extract_adapter(const ExtractOptions& options, Progress& progress);

}  // namespace modelutils
