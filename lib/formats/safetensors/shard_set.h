// Reads a model in one or several safetensors files as one: a file, an index ("model.safetensors.index.json") or a
// directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/log.h"
#include "base/name_index.h"
#include "formats/safetensors/index.h"
#include "formats/safetensors/parse.h"
#include "io/model_folder.h"

namespace modelutils::safetensors {

struct ShardFile {
  std::string path;
  std::string base_name;  ///< path relative to the set's folder: "model.safetensors", "part/model.safetensors"
  std::shared_ptr<ByteSource> source;
  Document document;
  bool is_apart = false;  ///< not listed in the index: multi-token prediction blocks (is_prediction_name())
};

/// The result of another reader: the source of the tensors' bytes, and a document that describes them.
struct ShardContent {
  std::shared_ptr<ByteSource> source;
  Document document;
};

/// Reads a PyTorch checkpoint for a set (model/safetensors_model.h). Returns nullopt if the file is not a checkpoint.
/// `is_part`: the file is in a model's folder; read only the weights.
using CheckpointReader = Result<std::optional<ShardContent>> (*)(std::shared_ptr<ByteSource> source, bool is_part);

/// A tensor's location: files[file].document.tensors[entry].
struct TensorRef {
  u32 file = 0;
  u32 entry = 0;
};

struct ShardSet {
  std::string path;                 ///< as given by the user
  std::string folder;               ///< folder of the files; empty for the current folder, else ends in '/'
  bool is_directory = false;        ///< `path` is a directory
  bool has_checkpoints = false;     ///< the files are PyTorch checkpoints
  std::optional<ShardIndex> index;  ///< set if an index exists and could be read
  std::string index_path;           ///< path of the index, readable or not; empty if there is none
  std::vector<ShardFile> files;     ///< the files that could be opened and parsed, sorted by name
  std::vector<TensorRef> tensors;   ///< one entry per name: by file, then in header order
  std::vector<TensorRef> repeated;  ///< entries whose name is already in `tensors`: errors, kept only for listing
  FindingLog findings;  ///< problems of the set: index, missing shards, names in two files, … ("st-index-…",
                        ///< "st-shard-…"); those of a file are in its document

  const Tensor& tensor(TensorRef ref) const { return files[ref.file].document.tensors[ref.entry]; }
  /// All entries by number: `tensors`, then `repeated`.
  std::size_t listed_count() const { return tensors.size() + repeated.size(); }
  TensorRef listed(std::size_t place) const {
    return place < tensors.size() ? tensors[place] : repeated[place - tensors.size()];
  }
  const ShardFile& file(TensorRef ref) const { return files[ref.file]; }
  /// Returns the tensor of that name, or nullopt. One hash look-up.
  std::optional<TensorRef> find(std::string_view name) const;
  /// `__metadata__` of all files. If a key is in several files, the first file's value wins.
  std::vector<MetadataEntry> metadata() const;
  /// Findings of the set and of all documents, with the file's base name if there are several files.
  FindingLog all_findings() const;

  NameIndex names;  ///< index of `tensors`; empty for a single file whose document has one. Use find()
};

/// True if open_set() would open something in this directory: an index, a *.safetensors file, or pytorch_model*.bin.
/// Also true if the directory cannot be listed: open_set() then reports the reason.
bool is_model_folder(const std::string& path);

/// Opens `path`:
/// - "-" is standard input.
/// - A directory with an index or *.safetensors files. "consolidated*" and adapters are ignored if there is anything
/// else. Separate files with multi-token prediction blocks next to the index are included, with a note "st-mtp-apart".
/// - A name that ends in ".json" is an index. Anything else is a single file.
///
/// Nothing outside the folder is opened, unless a shard is itself a symbolic link. Such a link gives a warning, unless
/// `links` is `follow` or the link leads into the blobs of its download cache. FIFOs, devices and directories as shards
/// are findings and are never read.
///
/// An index is ignored with the finding "st-index-stale" if none of its shards exists and the files present form a
/// complete set. `opened` is the file or index `path` if it is already open. `ignore_index` ignores a directory's
/// index. `checkpoints` reads PyTorch checkpoints by the same rules: a file, or a directory's pytorch_model*.bin if it
/// has no safetensors; without it they are refused.
///
/// Errors: those of open_source() and parse() for a single file; "st-no-model" for a directory with nothing to open. A
/// broken index, and a shard that cannot be opened or is not a safetensors file, are findings.
Result<ShardSet> open_set(const std::string& path, OutsideLinks links = OutsideLinks::warn, FolderFile opened = {},
                          bool ignore_index = false, CheckpointReader checkpoints = nullptr);

/// Opens all shards "PREFIX-00001-of-00003.safetensors" in the folder of `path`, one of them, as a model without an
/// index. A missing shard is a finding. Errors: "io-open" if the folder cannot be listed.
Result<ShardSet> open_shards(const std::string& path, OutsideLinks links = OutsideLinks::warn);

/// Opens one file or pipe. `source` is nullptr if it is not open yet. Errors: those of open_source() and parse().
Result<ShardSet> open_stream(const std::string& path, std::shared_ptr<ByteSource> source,
                             CheckpointReader checkpoints = nullptr);

}  // namespace modelutils::safetensors
