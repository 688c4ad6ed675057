// A model in one or several safetensors files as one: a file, an index ("model.safetensors.index.json") or a directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/finding_log.h"
#include "base/name_index.h"
#include "io/model_folder.h"
#include "safetensors/document.h"
#include "safetensors/index.h"

namespace modelutils::safetensors {

struct ShardFile {
  std::string path;
  std::string base_name;  ///< from the set's folder on: "model.safetensors", "part/model.safetensors"
  std::shared_ptr<ByteSource> source;
  Document document;
  bool is_apart = false;  ///< no index lists it: blocks that predict further tokens (is_prediction_name())
};

/// A file that another reader understood: what its tensors are read from, and what it holds.
struct ShardContent {
  std::shared_ptr<ByteSource> source;
  Document document;
};

/// Reads a PyTorch checkpoint for a set (model/checkpoint_shard.h); nothing if the file is not one. `is_part`: of a
/// model's folder, whose weights alone are wanted.
using CheckpointReader = Result<std::optional<ShardContent>> (*)(std::shared_ptr<ByteSource> source, bool is_part);

/// Where a tensor is: files[file].document.tensors[entry].
struct TensorRef {
  u32 file = 0;
  u32 entry = 0;
};

struct ShardSet {
  std::string path;                 ///< as the user gave it
  std::string folder;               ///< of the files; empty for the current one, else ends in '/'
  bool is_directory = false;        ///< `path` is a directory
  bool has_checkpoints = false;     ///< the files are PyTorch checkpoints
  std::optional<ShardIndex> index;  ///< if there is one and it could be read
  std::string index_path;           ///< of the index, readable or not; empty without one
  std::vector<ShardFile> files;     ///< sorted by name; those that could be opened and parsed
  std::vector<TensorRef> tensors;   ///< every name once: by file, then by place in the header
  std::vector<TensorRef> repeated;  ///< entries whose name `tensors` has already: errors, only to be listed
  FindingLog findings;              ///< about the set: index, missing shards, names in two files, … ("st-index-…",
                                    ///< "st-shard-…"); each file's own stand in its document

  const Tensor& tensor(TensorRef ref) const { return files[ref.file].document.tensors[ref.entry]; }
  /// All entries by number: first `tensors`, then `repeated`.
  std::size_t listed_count() const { return tensors.size() + repeated.size(); }
  TensorRef listed(std::size_t place) const {
    return place < tensors.size() ? tensors[place] : repeated[place - tensors.size()];
  }
  const ShardFile& file(TensorRef ref) const { return files[ref.file]; }
  /// The tensor of that name, or nothing. One hash look-up.
  std::optional<TensorRef> find(std::string_view name) const;
  /// `__metadata__` of all files: of a key that stands in several, the first file's value.
  std::vector<MetadataEntry> metadata() const;
  /// Findings of the set and of every document, each with its file's base name if there are several files.
  FindingLog all_findings() const;

  NameIndex names;  ///< of `tensors` by place; empty for one file whose document has them already. Use find()
};

/// Is there anything in this directory that open_set() would open: an index, a *.safetensors file, or
/// pytorch_model*.bin? One that cannot be listed counts: open_set() says why.
bool is_model_folder(const std::string& path);
/// Is this the path of an index: "*.safetensors.index*.json", or a JSON file in whose beginning a weight_map stands?
bool is_index(std::string_view path, std::string_view head);

/// Opens `path`: "-" is standard input; a directory with an index or with *.safetensors files ("consolidated*" and
/// adapters are left out if there is anything else; blocks that predict further tokens, in files of their own beside
/// the index, are read along: a note "st-mtp-apart"); an index (a name ending in ".json"); anything else as one file.
///
/// Nothing outside the folder is opened, except where a shard is itself a symbolic link (a warning, unless `links` is
/// `follow` or it leads into the blobs of its download cache). FIFOs, devices and
/// directories as shards are findings and are never read. Errors: those of open_source() and parse() for a single file;
/// "st-no-model" for a directory without anything to open. An index that is broken, and a shard that cannot be opened
/// or is not a safetensors file, are findings. `opened`: the file or index `path`, where it is open already.
/// An index none of whose shards is there, while what is there is a complete set of its own, is a finding
/// ("st-index-stale"), and the set is opened without it. `ignore_index`: as if a directory had no index.
/// `checkpoints` reads a file that is a PyTorch checkpoint, and the pytorch_model*.bin of a directory without
/// safetensors, by the same rules (without it they are refused).
Result<ShardSet> open_set(const std::string& path, OutsideLinks links = OutsideLinks::warn, FolderFile opened = {},
                          bool ignore_index = false, CheckpointReader checkpoints = nullptr);

/// Opens the shards "PREFIX-00001-of-00003.safetensors" that lie in the folder of one of them, `path`, as a model
/// without an index: what lacks is a finding. Errors: "io-open" if the folder cannot be listed.
Result<ShardSet> open_shards(const std::string& path, OutsideLinks links = OutsideLinks::warn);

}  // namespace modelutils::safetensors
