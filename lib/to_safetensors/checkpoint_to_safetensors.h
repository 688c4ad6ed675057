// pt2st: converts a PyTorch checkpoint to safetensors, bit for bit. Plans from the pickle and the record headers, then
// streams, checks and renames. Executes nothing in the checkpoint. Source: docs/formats/pytorch.md.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "base/parallel.h"
#include "io/model_folder.h"
#include "io/progress.h"

namespace modelutils::to_safetensors {

struct CheckpointReport;

struct CheckpointOptions {
  std::string input;               ///< a checkpoint, its index, or a directory with pytorch_model*.bin
  std::string output;              ///< FILE.safetensors for a single file, else a directory
  u64 shard_size = 5'000'000'000;  ///< maximum bytes of tensors per file, unless a single tensor is larger
  bool force = false;
  bool dry_run = false;
  OutsideLinks links = OutsideLinks::warn;
  unsigned threads = default_threads();
  /// Receives the finished report before the outputs are renamed. If it fails, no output appears.
  std::function<Status(const CheckpointReport&)> deliver;
};

struct WrittenTensor {
  std::string name;
  std::string dtype;
  std::vector<u64> shape;
  u64 bytes = 0;
  std::string file;  ///< base name of its file
};

struct CheckpointReport {
  std::string input, output;
  bool dry_run = false;
  struct File {
    std::string name;
    u64 bytes = 0;
    u64 tensors = 0;  ///< 0 for side files
  };
  std::vector<File> files;
  std::vector<WrittenTensor> tensors;
  /// Tensors omitted because they share the elements of another: the omitted name and the written one.
  std::vector<std::pair<std::string, std::string>> shared;
  std::string wrapper;                ///< prefix removed from the names; empty if there is none
  std::vector<std::string> left_out;  ///< full names of tensors outside of the wrapper, such as an optimiser's
  FindingLog remarks;
};

/// Converts the checkpoint. Copies a directory's config.json, tokenizer and text files, but no programs. Errors: the
/// codes of the readers; "pt2st-input" if the input is not a checkpoint; the first finding of class error in the
/// checkpoint; "st-write-…", "out-…", usage errors; "out-check" if the output cannot be read back.
Result<CheckpointReport> checkpoint_to_safetensors(const CheckpointOptions& options, Progress& progress);

}  // namespace modelutils::to_safetensors
