// Converts a PEFT or mlx-lm adapter, or one of a model's own adapters, to a GGUF adapter that llama.cpp loads onto its
// base.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "convert/transfer/report.h"
#include "io/standard_output.h"
#include "model/adapter/pairs.h"
#include "tensor/types.h"

namespace modelutils::to_gguf {

struct AdapterToGgufOptions {
  std::string directory;  ///< the adapter's directory
  std::string base;       ///< the base's directory (its config.json is enough) or GGUF; if empty, conversion fails with
                          ///< "adapter-no-base"
  std::string task;    ///< if not empty, `directory` is a model that has an adapter for this task, and is also the base
  std::string output;  ///< "-" streams to standard output
  std::optional<TensorType> type;   ///< F32, F16 or BF16; by default F16 factors stay F16 and all others become F32
  std::optional<std::string> name;  ///< general.name
  bool exact = false;               ///< "convert-inexact" if a factor is rounded
  bool force = false;
  bool dry_run = false;
  std::function<Status(const TransferReport&)> deliver;  ///< see MlxToGgufOptions::deliver
};

/// Reads the family, sizes and tensors of a base model. Errors: those of plan_gguf() for a directory with weights, of
/// opening a GGUF and of arch::read_gguf_sizes(); "convert-architecture" if the architecture is unknown.
Result<adapter::Base> read_base(const std::string& path);

/// Converts the adapter, or only plans with dry_run. On an error no output is left behind. Holds one pair in memory at
/// a time. Errors: those of open_adapter() or read_task(), map_pairs() and read_base(); "adapter-no-base";
/// "adapter-merge" if only merging can express the adapter (DoRA, saved modules); those of AtomicOutput;
/// "convert-self-check".
Result<TransferReport> adapter_to_gguf(const AdapterToGgufOptions& options, Progress& progress);

}  // namespace modelutils::to_gguf
