// GGUF adapter -> the directory of an adapter that PEFT or mlx-lm loads.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "adapter/pairs.h"
#include "base/error.h"
#include "io/progress.h"
#include "tensor/types.h"
#include "to_directory/tensor_map.h"
#include "transfer/report.h"

namespace modelutils::to_directory {

struct AdapterToDirectoryOptions {
  std::string input;   ///< the GGUF
  std::string output;  ///< the directory
  adapter::Base base;  ///< what the adapter is for: it decides names and the order of rows
  DirectoryStyle style = DirectoryStyle::hugging_face;  ///< PEFT's form, or mlx-lm's
  std::optional<TensorType> dtype;  ///< F32, F16 or BF16; nothing: the smallest that holds all values of the adapter
  bool force = false;
  bool dry_run = false;
  std::function<Status(const TransferReport&)> deliver;  ///< as GgufToMlxOptions::deliver
};

/// Converts, or with dry_run only plans; every factor is read twice. Nothing is left behind on an error. Memory: one
/// pair. Errors of kind input: "adapter-no-base" (no base), "adapter-tensor" (the file is not an adapter), those of
/// AdapterModules::map(), of what verify calls an error in the file, of AtomicDirectory; "convert-self-check".
Result<TransferReport> adapter_to_directory(const AdapterToDirectoryOptions& options, Progress& progress);

}  // namespace modelutils::to_directory
