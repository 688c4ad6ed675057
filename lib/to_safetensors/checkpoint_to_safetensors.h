// pt2st: converts a PyTorch checkpoint to safetensors, bit for bit. Plans from the pickle and the record headers, then
// streams, checks and renames. Executes nothing in the checkpoint. Source: docs/formats/pytorch.md.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/parallel.h"
#include "io/model_folder.h"
#include "io/progress.h"
#include "transfer/report.h"

namespace modelutils::to_safetensors {

struct CheckpointOptions {
  std::string input;               ///< a checkpoint, its index, or a directory with pytorch_model*.bin
  std::string output;              ///< FILE.safetensors for a single file, else a directory
  u64 shard_size = 5'000'000'000;  ///< maximum bytes of tensors per file, unless a single tensor is larger
  bool force = false;
  bool dry_run = false;
  OutsideLinks links = OutsideLinks::warn;
  unsigned threads = default_threads();
  /// Receives the finished report before the outputs are renamed. If it fails, no output appears.
  std::function<Status(const TransferReport&)> deliver;
};

/// Converts the checkpoint. Copies a directory's config.json, tokenizer and text files, but no programs. Errors: the
/// codes of the readers; "pt2st-input" if the input is not a checkpoint; the first finding of class error in the
/// checkpoint; "st-write-…", "out-…", usage errors; "out-check" if the output cannot be read back.
Result<TransferReport> checkpoint_to_safetensors(const CheckpointOptions& options, Progress& progress);

}  // namespace modelutils::to_safetensors
