// A safetensors path together with the config.json beside it, for st-dump and the rules for MLX directories. Consists
// of views and numbers; reads no tensor data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/hf/config.h"
#include "formats/pytorch/parse.h"
#include "formats/safetensors/shard_set.h"
#include "model/forms/modules.h"
#include "model/mlx/quantization.h"

namespace modelutils {

/// Returns the name in the set of the matrix of a dense layer that modules.json names: "2_Dense.linear.weight".
std::string dense_tensor(std::string_view folder);

// Presents a PyTorch checkpoint as a file of a safetensors set, so that code for such sets also works on checkpoints.

/// Reads `source` as a checkpoint; nullopt if pytorch::is_checkpoint() is false. Offsets in the document refer to the
/// returned source, in which every tensor is contiguous. With `is_part` (the file belongs to a model's folder), the
/// wrapper ("state_dict", "model", "module") is removed from the names, and tensors outside it are omitted. Findings
/// have codes "pt-…". Errors: read errors.
Result<std::optional<safetensors::ShardContent>> read_checkpoint(std::shared_ptr<ByteSource> source, bool is_part);

/// Returns the checkpoint that a file of a set was made from; nullptr if it is not a checkpoint.
const pytorch::Document* checkpoint_of(const safetensors::ShardFile& file);

/// From now on, records the checksums of bytes read from the set's checkpoints. Not thread-safe.
void keep_checkpoint_checksums(const safetensors::ShardSet& set);
/// Compares the records of every checkpoint in the set with their CRC-32. Reads only bytes that were not read since
/// keep_checkpoint_checksums(). Reports "pt-zip-…" and read errors as findings.
FindingLog check_checkpoint_records(const safetensors::ShardSet& set, unsigned threads);

struct SafetensorsModel {
  safetensors::ShardSet set;
  ModelFolder folder{std::string()};  ///< folder of the files; remembers files already read
  std::optional<hf::Config> config;   ///< nullopt if the folder has no readable config.json
  std::optional<Error> config_error;  ///< set if config.json exists but cannot be read
  mlx::Quantization quantization;     ///< quantisation settings of the config
  ForeignMethod foreign;              ///< settings of a method other than MLX's
  /// Modules over `set.tensors`, by index. Empty unless something may be quantised: a config exists, or a name ends in
  /// ".scales" or ".biases".
  Modules modules;
  bool has_modules = false;

  /// True if the path is a directory with a config.json (format "mlx": MLX's or Hugging Face's).
  bool is_model_directory() const { return set.is_directory && (config || config_error); }
};

/// Which modules to find.
enum class ModulesWanted : u8 {
  none,          ///< no modules; config.json is not read either
  if_quantized,  ///< only if something may be quantised
  all,
};

/// Opens `path` like safetensors::open_set(), with its errors. An unreadable config.json is not an error here.
Result<SafetensorsModel> open_safetensors_model(const std::string& path,
                                                ModulesWanted modules = ModulesWanted::if_quantized,
                                                OutsideLinks links = OutsideLinks::warn, FolderFile opened = {},
                                                bool ignore_index = false);

/// Opens one file, or a pipe, that is already open: only the set, with the errors of safetensors::open_stream().
Result<SafetensorsModel> open_safetensors_stream(const std::string& path, std::shared_ptr<ByteSource> source);

/// Opens the shards of a model without an index, one of which is `path`: only the set, with the errors of
/// open_shards().
Result<SafetensorsModel> open_shard_group(const std::string& path, OutsideLinks links);

/// Returns `set.tensors` in the form that find_modules() takes.
std::vector<mlx::TensorRef> tensor_refs(const safetensors::ShardSet& set);

/// The first tensor that shows mlx-lm's layout, and the first that shows the published one, by the family's rows.
struct StatedLayout {
  std::string_view of_mlx, as_published;  ///< views into the model; empty if there is no such tensor

  bool has_any() const { return !of_mlx.empty() || !as_published.empty(); }
  bool is_mixed() const { return !of_mlx.empty() && !as_published.empty(); }
  bool is_mlx() const { return !of_mlx.empty(); }
};
/// Finds these tensors. Both are empty for unknown families and for families whose layouts agree.
StatedLayout layout_of_tensors(const SafetensorsModel& model);

/// True if the tensors are laid out as mlx-lm saves them: by layout_of_tensors(), else by says_mlx().
bool is_mlx(const SafetensorsModel& model);

/// True if the files state that MLX wrote them: "format": "mlx" in the metadata, or MLX's quantisation settings. Other
/// tools copy or drop this mark, so is_mlx() considers the tensors first.
bool says_mlx(const SafetensorsModel& model);

/// Returns the number of parameters in each tensor of `set.tensors`. A packed weight has its logical element count, or
/// its stored count if the config does not define the packing. Scales and biases of quantised modules have 0, as do
/// shapes that overflow.
std::vector<u64> parameters_of_tensors(const SafetensorsModel& model);

/// For each tensor of `set.tensors`, returns true if it is a part of a quantised module other than the weight (scales,
/// biases …).
std::vector<bool> quantization_parts(const SafetensorsModel& model);

}  // namespace modelutils
