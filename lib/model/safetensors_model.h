// A safetensors path together with the config.json beside it: what st-dump and the rules for MLX directories work on.
// Views and numbers only; no tensor data is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "forms/modules.h"
#include "hf/config.h"
#include "mlx/quantization.h"
#include "safetensors/shard_set.h"

namespace modelutils {

struct SafetensorsModel {
  safetensors::ShardSet set;
  ModelFolder folder{std::string()};  ///< of the files; what is read of it is read once
  std::optional<hf::Config> config;   ///< config.json in the folder of the files, if there is one that can be read
  std::optional<Error> config_error;  ///< config.json is there, but cannot be read
  mlx::Quantization quantization;     ///< what the config says
  ForeignMethod foreign;              ///< the same of a method that is not MLX's
  /// Modules over `set.tensors` (indexes are places there). Found only where something can be quantised: a config
  /// exists, or a name ends in ".scales" or ".biases". Otherwise empty.
  Modules modules;
  bool has_modules = false;

  /// Is the path a directory with a config.json (the format "mlx": MLX's or Hugging Face's)?
  bool is_model_directory() const { return set.is_directory && (config || config_error); }
};

/// Which modules are looked for.
enum class ModulesWanted : u8 {
  none,          ///< nor is config.json read
  if_quantized,  ///< where something can be quantised
  all,
};

/// Opens `path` as safetensors::open_set() does, with its errors. A config.json that cannot be read is not an error
/// here.
Result<SafetensorsModel> open_safetensors_model(const std::string& path,
                                                ModulesWanted modules = ModulesWanted::if_quantized,
                                                OutsideLinks links = OutsideLinks::warn, FolderFile opened = {},
                                                bool ignore_index = false);

/// The shards of a model without an index, one of which is `path`: the set alone, with the errors of open_shards().
Result<SafetensorsModel> open_shard_group(const std::string& path, OutsideLinks links);

/// `set.tensors`, as modules are found in them.
std::vector<mlx::TensorRef> tensor_refs(const safetensors::ShardSet& set);

/// The tensors by whose names or shapes the family tells mlx-lm's layout from the published one: the first of each.
struct StatedLayout {
  std::string_view of_mlx, as_published;  ///< views into the model; empty if no tensor says so

  bool has_any() const { return !of_mlx.empty() || !as_published.empty(); }
  bool is_mixed() const { return !of_mlx.empty() && !as_published.empty(); }
  bool is_mlx() const { return !of_mlx.empty(); }
};
StatedLayout layout_of_tensors(const SafetensorsModel& model);

/// True if the tensors are laid out as mlx-lm saves them: by layout_of_tensors(), else by says_mlx().
bool is_mlx(const SafetensorsModel& model);

/// True if the files say that MLX wrote them: "format": "mlx" in the metadata, or MLX's quantisation settings. Other
/// tools copy or drop the mark, so tensors that tell come first.
bool says_mlx(const SafetensorsModel& model);

/// For each place in `set.tensors`: the elements that count as parameters. A packed weight counts with its logical
/// shape (as stored, if the config does not say how to unpack it); scales and biases of quantised modules are 0, and so
/// is a shape that overflows.
std::vector<u64> parameters_of_tensors(const SafetensorsModel& model);

/// Their sum.
u64 parameter_count(const SafetensorsModel& model);

/// For each place in `set.tensors`: is it a part of a quantised module (scales, biases …), not its weight?
std::vector<bool> quantization_parts(const SafetensorsModel& model);

}  // namespace modelutils
