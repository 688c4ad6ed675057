// pt2st: PyTorch checkpoint -> safetensors, bit for bit. Planned from the pickle and the records' headers, then
// streamed, checked, renamed. Nothing of the checkpoint is run. Source: docs/formats/pytorch.md.
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
  std::string output;              ///< FILE.safetensors of a single file, else a directory
  u64 shard_size = 5'000'000'000;  ///< bytes of tensors in one file, if more than one tensor is in it
  bool force = false;
  bool dry_run = false;
  OutsideLinks links = OutsideLinks::warn;
  unsigned threads = default_threads();
  /// Gets the finished report before the outputs have their names: where it fails, none appears.
  std::function<Status(const CheckpointReport&)> deliver;
};

struct WrittenTensor {
  std::string name;
  std::string dtype;
  std::vector<u64> shape;
  u64 bytes = 0;
  std::string file;  ///< base name of the file it is in
};

struct CheckpointReport {
  std::string input, output;
  bool dry_run = false;
  struct File {
    std::string name;
    u64 bytes = 0;
    u64 tensors = 0;  ///< 0 for files beside the weights
  };
  std::vector<File> files;
  std::vector<WrittenTensor> tensors;
  /// Names of tensors whose elements are those of another, which is written: first the name left out, then the kept.
  std::vector<std::pair<std::string, std::string>> shared;
  std::string wrapper;                ///< taken off the names; empty if there was none
  std::vector<std::string> left_out;  ///< tensors beside the wrapper (an optimizer's), by their whole names
  FindingLog remarks;
};

/// Codes: those of the readers; "pt2st-input" for what is not a checkpoint; the first finding of class error of the
/// checkpoint, which is then refused; "st-write-…", "out-…", usage errors; "convert-self-check" if what was written
/// does not read back. A directory's config.json, tokenizer and texts are copied; programs are not.
Result<CheckpointReport> checkpoint_to_safetensors(const CheckpointOptions& options, Progress& progress);

}  // namespace modelutils::to_safetensors
