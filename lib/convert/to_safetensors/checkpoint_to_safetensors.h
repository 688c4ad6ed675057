// pt2st: converts a PyTorch checkpoint to safetensors, bit for bit. Plans from the pickle and the record headers, then
// streams, checks and renames. Executes nothing in the checkpoint. Source: docs/formats/pytorch.md.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/parallel.h"
#include "convert/transfer/plan.h"
#include "convert/transfer/report.h"
#include "io/model_folder.h"
#include "io/standard_output.h"
#include "model/model.h"

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

// Plans which tensors of a checkpoint go into which safetensors file. Internal.

struct CheckpointPlan : Plan {
  Model model;
  std::vector<safetensors::TensorRef> sources;  ///< parallel to `stream`
  bool to_directory = false;
  std::string index;                ///< contents of model.safetensors.index.json; empty for a single file
  std::vector<std::string> copied;  ///< base names of side files
  TransferReport report;

  const safetensors::ShardSet& set() const { return model.safetensors->set; }
};

/// Plans the conversion. Errors: those of checkpoint_to_safetensors() that need no output.
Result<CheckpointPlan> plan_checkpoint(const CheckpointOptions& options);

}  // namespace modelutils::to_safetensors
