// An adapter of PEFT or mlx-lm -> GGUF adapter that llama.cpp loads onto the base.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "adapter/pairs.h"
#include "base/error.h"
#include "io/progress.h"
#include "tensor/types.h"
#include "transfer/report.h"

namespace modelutils::to_gguf {

struct AdapterToGgufOptions {
  std::string directory;  ///< of the adapter
  std::string base;    ///< a model's directory (its config.json is enough) or a GGUF; empty: an error that asks for it
  std::string output;  ///< "-" streams to standard output
  std::optional<TensorType> type;   ///< F32, F16 or BF16; nothing: F16 factors stay so, all others are F32
  std::optional<std::string> name;  ///< general.name
  bool exact = false;               ///< "convert-inexact" if a factor is rounded
  bool force = false;
  bool dry_run = false;
  std::function<Status(const TransferReport&)> deliver;  ///< as MlxToGgufOptions::deliver
};

/// What there is to know of a base. Errors: those of plan_gguf() for a directory with weights, of opening a GGUF and of
/// arch::read_gguf_sizes(); "convert-architecture" (an unknown one).
Result<adapter::Base> read_base(const std::string& path);

/// Converts, or with dry_run only plans. Nothing is left under the final name on an error. Memory: the largest pair.
/// Errors: those of open_adapter(), map_pairs() and read_base(); "adapter-no-base"; "adapter-merge" for what only
/// merging can carry (DoRA, saved modules); those of AtomicOutput; "convert-self-check".
Result<TransferReport> adapter_to_gguf(const AdapterToGgufOptions& options, Progress& progress);

}  // namespace modelutils::to_gguf
