// MLX or Hugging Face directory -> GGUF that llama.cpp loads: planned from headers and scales, then streamed, checked,
// renamed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "adapter/merge.h"
#include "base/error.h"
#include "base/parallel.h"
#include "io/model_folder.h"
#include "io/progress.h"
#include "model/hf_model.h"
#include "transfer/mlx_target.h"
#include "transfer/report.h"

namespace modelutils::to_gguf {

struct MlxToGgufOptions {
  std::string directory;
  std::string output;  ///< "-" streams to standard output
  RepackOptions repack;
  std::string pre;        ///< --pre
  std::string pre_force;  ///< --pre-force
  std::optional<std::string> name;
  bool no_vocab = false;
  PredictionChoice prediction = PredictionChoice::by_runtime;
  std::vector<adapter::Wanted> adapters;      ///< to be merged, in this order
  OutsideLinks links = OutsideLinks::refuse;  ///< symbolic links out of the directory
  bool ignore_index = false;                  ///< go by the shards that are there, not by their index
  std::optional<u64> split_max_size;          ///< padded bytes of tensor data in one file
  bool force = false;
  bool dry_run = false;
  unsigned threads = default_threads();
  /// Gets the finished report before the outputs have their names: where it fails, none appears.
  std::function<Status(const TransferReport&)> deliver;
};

/// Converts, or with dry_run only plans. `progress` is restarted with the bytes to be written. Nothing is left under
/// the final names on an error.
///
/// Errors: everything that verify calls an error in the directory; "convert-…" and "hf-tok-…" (docs/findings.md); those
/// of AtomicOutput; "convert-self-check" if what was written breaks a rule of ours (a bug).
Result<TransferReport> mlx_to_gguf(const MlxToGgufOptions& options, Progress& progress);

}  // namespace modelutils::to_gguf
