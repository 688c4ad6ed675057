// Which files of a folder are parts of a model, by their names. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/types.h"

namespace modelutils::safetensors {

/// "model-00001-of-00003.safetensors".
struct ShardName {
  std::string_view prefix;  ///< "model"
  u64 number = 0;           ///< 1
  u64 count = 0;            ///< 3
};
std::optional<ShardName> shard_name(std::string_view base_name);

/// "*.safetensors.index*.json"
bool is_index_name(std::string_view base_name);

/// What lies in a folder, sorted by name.
struct Folder {
  explicit Folder(std::string path);  ///< empty, or ending in '/'

  std::string path;
  std::vector<std::string> weights;  ///< "*.safetensors", hidden files left out
  std::vector<std::string> indexes;  ///< "*.safetensors.index*.json"
  std::error_code problem;           ///< why it could not be listed to its end

  /// The index to use: model.safetensors.index.json if it is there. Nothing if there is none.
  std::optional<std::string> index() const;
  /// The weights to use without an index: model*, else all but consolidated* and adapters, else what there is.
  std::vector<std::string> model_files() const;
};

/// The first number that is missing among the siblings of a shard's name, and how many are; nothing if all are there.
struct MissingShards {
  u64 first = 0;
  u64 count = 0;
};
std::optional<MissingShards> missing_siblings(const Folder& folder, const ShardName& name);

/// Is the file a symbolic link whose target lies outside the folder?
bool leaves_folder(const Folder& folder, const std::string& base_name);

}  // namespace modelutils::safetensors
