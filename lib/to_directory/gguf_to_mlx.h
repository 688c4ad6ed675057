// GGUF -> a directory that mlx-lm loads, or with `dequantize` one that transformers opens: planned from header and
// scales, then streamed, checked, renamed.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/parallel.h"
#include "io/model_folder.h"
#include "io/progress.h"
#include "to_directory/forms.h"
#include "transfer/report.h"

namespace modelutils::to_directory {

inline constexpr u64 default_shard_size = 5'000'000'000;

struct GgufToMlxOptions {
  std::string input;   ///< a file, or any part of a split model
  std::string output;  ///< the directory
  FormOptions forms;
  std::string model_type;  ///< --model-type
  std::string pre;         ///< --pre
  bool no_tokenizer = false;
  bool raw_names = false;               ///< the tensors alone, under their own names
  u64 shard_size = default_shard_size;  ///< bytes of tensors in one file, if more than one tensor is in it
  OutsideLinks links = OutsideLinks::refuse;
  bool force = false;
  bool dry_run = false;
  unsigned threads = default_threads();
  /// Gets the finished report before the outputs have their names: where it fails, none appears.
  std::function<Status(const TransferReport&)> deliver;
};

/// Converts, or with dry_run only plans. `progress` is restarted with the bytes to be written. Nothing is left behind
/// on an error.
///
/// Errors: everything that verify calls an error in the file; "convert-…", "config-…" and "hf-tok-…"
/// (docs/findings.md); those of AtomicDirectory; "convert-self-check" if what was written breaks a rule of ours (a
/// bug).
Result<TransferReport> gguf_to_mlx(const GgufToMlxOptions& options, Progress& progress);

}  // namespace modelutils::to_directory
