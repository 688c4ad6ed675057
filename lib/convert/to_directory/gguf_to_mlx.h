// Converts a GGUF to a directory that mlx-lm loads or, with `dequantize`, one that transformers opens; an image model
// to a directory or a file of its unquantised tensors. Plans from headers and scales, then streams, checks and renames.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/parallel.h"
#include "convert/to_directory/forms.h"
#include "convert/transfer/report.h"
#include "io/model_folder.h"
#include "io/standard_output.h"

namespace modelutils::to_directory {

inline constexpr u64 default_shard_size = 5'000'000'000;

struct GgufToMlxOptions {
  std::string input;   ///< a file, or any part of a split model
  std::string output;  ///< the directory; for an image model, NAME.safetensors is a file
  FormOptions forms;
  std::string projector;   ///< --mmproj: a projector file, whose towers are added to the directory
  std::string model_type;  ///< --model-type
  std::string pre;         ///< --pre
  bool no_tokenizer = false;
  bool raw_names = false;               ///< write only the tensors, under their GGUF names
  u64 shard_size = default_shard_size;  ///< limit on tensor bytes per file; a larger tensor gets a file of its own
  OutsideLinks links = OutsideLinks::refuse;
  bool force = false;
  bool dry_run = false;
  unsigned threads = default_threads();
  /// Called with the finished report before the outputs get their final names. If it fails, no output appears.
  std::function<Status(const TransferReport&)> deliver;
};

/// Converts the file, or only plans with dry_run. Restarts `progress` with the number of bytes to write. On an error no
/// output is left behind.
///
/// Errors: everything verify calls an error in the file; "convert-…", "config-…" and "hf-tok-…" (docs/findings.md);
/// those of AtomicDirectory; "convert-self-check" if the output breaks one of our rules (a bug).
Result<TransferReport> gguf_to_mlx(const GgufToMlxOptions& options, Progress& progress);

}  // namespace modelutils::to_directory
