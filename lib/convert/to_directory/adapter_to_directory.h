// Converts a GGUF adapter to an adapter directory that PEFT or mlx-lm loads.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "convert/to_directory/tensor_map.h"
#include "convert/transfer/report.h"
#include "io/standard_output.h"
#include "model/adapter/pairs.h"
#include "tensor/types.h"

namespace modelutils::to_directory {

struct AdapterToDirectoryOptions {
  std::string input;                                    ///< path of the GGUF
  std::string output;                                   ///< path of the directory
  adapter::Base base;                                   ///< the adapter's base model, which decides names and row order
  DirectoryStyle style = DirectoryStyle::hugging_face;  ///< Hugging Face means PEFT's form, MLX means mlx-lm's
  std::optional<TensorType> dtype;  ///< F32, F16 or BF16; by default the narrowest that holds every value of the
                                    ///< adapter
  bool force = false;
  bool dry_run = false;
  std::function<Status(const TransferReport&)> deliver;  ///< see GgufToMlxOptions::deliver
};

/// Converts the adapter, or only plans with dry_run. Reads every factor twice and holds one pair in memory at a time.
/// On an error no output is left behind. Errors of kind input: "adapter-no-base" (no base), "adapter-tensor" (the file
/// is not an adapter), those of AdapterModules::map(), of AtomicDirectory, and everything verify calls an error in the
/// file; "convert-self-check".
Result<TransferReport> adapter_to_directory(const AdapterToDirectoryOptions& options, Progress& progress);

}  // namespace modelutils::to_directory
