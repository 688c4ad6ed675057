// Which files of a folder are parts of a model, by their names. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils::safetensors {

/// "model-00001-of-00003.safetensors", "pytorch_model-00001-of-00003.bin".
struct ShardName {
  std::string_view prefix;  ///< "model"
  u64 number = 0;           ///< 1
  u64 count = 0;            ///< 3
};
std::optional<ShardName> shard_name(std::string_view base_name);

/// "pytorch_model*.bin", as transformers looks for it.
bool is_checkpoint_name(std::string_view base_name);

/// "pytorch_model*.bin.index*.json"
bool is_checkpoint_index_name(std::string_view base_name);

/// "*.safetensors.index*.json", or an index of checkpoints
bool is_index_name(std::string_view base_name);

/// "mtp.safetensors", "mtp-00001-of-00002.safetensors": blocks that predict further tokens, kept beside a model whose
/// index (and whose class in mlx-lm) knows nothing of them. mlx-lm's convert --preserve-mtp was to write such files.
bool is_prediction_name(std::string_view base_name);

/// What lies in a folder, sorted by name.
struct Folder {
  explicit Folder(std::string path);  ///< empty, or ending in '/'

  std::string path;
  std::optional<Error> problem;      ///< it could not be listed, or not to its end
  std::vector<std::string> weights;  ///< "*.safetensors", hidden files left out
  std::vector<std::string> indexes;  ///< "*.safetensors.index*.json"

  std::vector<std::string> checkpoints;         ///< "pytorch_model*.bin"
  std::vector<std::string> checkpoint_indexes;  ///< "pytorch_model*.bin.index*.json"

  /// Are PyTorch checkpoints the model, since there is nothing of safetensors?
  bool holds_checkpoints() const {
    return weights.empty() && indexes.empty() && !(checkpoints.empty() && checkpoint_indexes.empty());
  }
  /// `indexes`, or those of the checkpoints where these are the model.
  const std::vector<std::string>& index_files() const { return holds_checkpoints() ? checkpoint_indexes : indexes; }
  /// The index to use: model.safetensors.index.json if it is there. Nothing if there is none.
  std::optional<std::string> index() const;
  /// The weights to use without an index: model* but variants, else all but consolidated* and adapters, else what there
  /// is.
  std::vector<std::string> model_files() const;
  /// Next to model.safetensors: "model.fp16.safetensors", "model.fp16-00001-of-00002.safetensors",
  /// "model-00001-of-00002.fp16.safetensors", which transformers reads if it is asked for the variant "fp16".
  std::vector<std::string> variant_files() const;
  /// The files of is_prediction_name(), where there are others of the model.
  std::vector<std::string> prediction_files() const;
};

/// Files whose names differ in their number only: what should be the parts of one model.
struct ShardGroup {
  std::string_view first_file;  ///< of those that are there, in the order given
  u64 number = 0;               ///< of first_file
  u64 count = 0;                ///< as the names say
  u64 missing = 0;              ///< how many of the numbers 1 … count no file has
  u64 first_missing = 0;        ///< the smallest of them
};
/// The groups among `base_names` (sorted), by their first file. Views of the names. One pass.
std::vector<ShardGroup> shard_groups(const std::vector<std::string>& base_names);

}  // namespace modelutils::safetensors
