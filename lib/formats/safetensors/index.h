// Which files of a folder are parts of a model: by name, or by model.safetensors.index.json, which maps tensors to
// files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "base/types.h"

namespace modelutils::safetensors {

// Decides by name which files of a folder are parts of a model. Internal.

/// The components of "model-00001-of-00003.safetensors" or "pytorch_model-00001-of-00003.bin".
struct ShardName {
  std::string_view prefix;  ///< "model"
  u64 number = 0;           ///< 1
  u64 count = 0;            ///< 3
};
/// Parses such a name; nullopt for other names.
std::optional<ShardName> shard_name(std::string_view base_name);

/// True for "pytorch_model*.bin", the pattern that transformers looks for.
bool is_checkpoint_name(std::string_view base_name);

/// True for "pytorch_model*.bin.index*.json".
bool is_checkpoint_index_name(std::string_view base_name);

/// True for "*.safetensors.index*.json" and for an index of checkpoints.
bool is_index_name(std::string_view base_name);
/// True if this is an index: named "*.safetensors.index*.json", or a JSON file with a weight_map near its beginning.
bool is_index(std::string_view path, std::string_view head);

/// True for "mtp.safetensors" and "mtp-00001-of-00002.safetensors": multi-token prediction blocks, kept beside a model
/// whose index (and whose class in mlx-lm) does not list them. mlx-lm's convert --preserve-mtp was meant to write such
/// files.
bool is_prediction_name(std::string_view base_name);

/// The model files of a folder, sorted by name.
struct Folder {
  explicit Folder(std::string path);  ///< empty, or ending in '/'

  std::string path;
  std::optional<Error> problem;      ///< the folder could not be listed completely
  std::vector<std::string> weights;  ///< "*.safetensors", without hidden files
  std::vector<std::string> indexes;  ///< "*.safetensors.index*.json"

  std::vector<std::string> checkpoints;         ///< "pytorch_model*.bin"
  std::vector<std::string> checkpoint_indexes;  ///< "pytorch_model*.bin.index*.json"

  /// True if the model is in PyTorch checkpoints: there are some, and no safetensors files.
  bool holds_checkpoints() const {
    return weights.empty() && indexes.empty() && !(checkpoints.empty() && checkpoint_indexes.empty());
  }
  /// `indexes`, or `checkpoint_indexes` if the model is in checkpoints.
  const std::vector<std::string>& index_files() const { return holds_checkpoints() ? checkpoint_indexes : indexes; }
  /// Returns the index to use, model.safetensors.index.json if present; nullopt if there is none.
  std::optional<std::string> index() const;
  /// Returns the weights to use without an index: model* except variants; if there are none, all but consolidated* and
  /// adapters; if there are none of these either, all.
  std::vector<std::string> model_files() const;
  /// Returns variants next to model.safetensors: "model.fp16.safetensors", "model.fp16-00001-of-00002.safetensors",
  /// "model-00001-of-00002.fp16.safetensors". transformers reads them if the variant "fp16" is requested.
  std::vector<std::string> variant_files() const;
  /// Returns the files that match is_prediction_name(), if the model has others.
  std::vector<std::string> prediction_files() const;
};

/// Files whose names differ only in the part number: presumably parts of one model.
struct ShardGroup {
  std::string_view first_file;  ///< the first of the files present, in the given order
  u64 number = 0;               ///< part number of first_file
  u64 count = 0;                ///< part count in the names
  u64 missing = 0;              ///< count of numbers in 1 … count without a file
  u64 first_missing = 0;        ///< the smallest missing number
};
/// Returns the groups among `base_names` (sorted), ordered by first file. The results point into `base_names`. One
/// pass.
std::vector<ShardGroup> shard_groups(const std::vector<std::string>& base_names);

/// One entry of `weight_map`: a tensor and its shard, an index into ShardIndex::shards.
struct IndexEntry {
  std::string tensor;
  u32 shard = 0;
  u64 offset = 0;  ///< absolute offset of the tensor's name in the index
};

struct ShardIndex {
  std::optional<u64> total_size;    ///< metadata.total_size, if it is an integer (48.0 counts)
  std::vector<std::string> shards;  ///< every file name used that is_shard_path() accepts; sorted
  std::vector<IndexEntry> entries;  ///< in file order, each tensor once; entries without a usable file name are omitted
  bool usable = false;              ///< a `weight_map` object was read to its end
  FindingLog findings;              ///< class container, "st-index-…"
};

/// True if a shard may have this name: a file in the index's folder or below, such as "model.safetensors" or
/// "part/model.safetensors". No component may be empty, "." or ".."; backslash and NUL are not allowed, nor is what
/// leads elsewhere on Windows (os::leads_elsewhere()).
bool is_shard_path(std::string_view name);

/// Reads an index of at most max_header_bytes. Errors: read errors. Problems in the JSON are findings; file names that
/// is_shard_path() refuses are findings and are omitted.
Result<ShardIndex> parse_index(const ByteSource& source);

}  // namespace modelutils::safetensors
