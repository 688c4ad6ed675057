// Finds the models in and below a directory: which files or folders form one model.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "io/file_kind.h"
#include "io/model_folder.h"

namespace modelutils {

struct TreeOptions {
  /// `follow` also follows links to directories. Links to files are always followed.
  OutsideLinks links = OutsideLinks::refuse;
  /// Patterns (base/not_found.h) for files and folders to exclude, with everything below. They match the base name or
  /// the path relative to the root.
  std::vector<std::string> exclude;
  /// Report every revision in a Hugging Face cache, even if its weights and config.json are those of another revision.
  bool all_revisions = false;
  /// Report only models with a file modified after this time, in nanoseconds since 1970.
  std::optional<i64> newer_than;
};

/// An entry of the tree to examine.
struct TreeEntry {
  std::string path;                   ///< begins with the root as given; the root itself if that is a model
  std::string folder;                 ///< folder of the model's files relative to the root: "", "sub/"
  u64 bytes = 0;                      ///< total size of the model's files
  bool is_shard_group = false;        ///< `path` is the first of several shards that are a model without an index
  bool is_manifest = false;           ///< an Ollama manifest (model/download_record.h), which names the model's files
  bool is_cache = false;              ///< not a model but a folder of a download cache (verify/cache/download_check.h)
  std::optional<Error> problem = {};  ///< not a model but a folder that cannot be listed ("io-open")
};

/// Counts of the files that are not models.
struct TreeRest {
  struct Kind {
    u64 count = 0;
    std::string first;  ///< path relative to the root
  };
  u64 files = 0;                   ///< files that belong to no model
  std::map<FileKind, Kind> kinds;  ///< kinds of the files whose content was examined
  Kind side_files;                 ///< config.json without weights next to it
  Kind unfinished;                 ///< incomplete downloads
  Kind datasets;                   ///< repositories of a download cache without models
  u64 left_out = 0;                ///< models excluded by TreeOptions
  u64 repeated = 0;                ///< models all of whose files were already seen under other names
};

/// Calls `found` for every model in and below the directory `root`, sorted by name; a folder's models come before those
/// of its sub-folders. Stops when `found` returns false. One entry is: a directory with config.json and weights, or
/// with an index; a directory whose only weights are one file or one set of shards; the parts of a split GGUF. The kind
/// of a file follows from its name if it has a model's ending, otherwise from its first bytes. Manifests of Ollama are
/// models; blobs of caches are not. Skips hidden files, `.git` and the bookkeeping of download caches. Skips a model if
/// each of its files (device and inode) was already seen, within the same repository for Hugging Face caches; enters
/// each directory once. Memory: the relevant names of one folder per level, and 16 bytes per model file (32 in a
/// Hugging Face cache).
TreeRest walk_models(const std::string& root, const TreeOptions& options,
                     const std::function<bool(TreeEntry entry)>& found);

/// Returns a description of the files that are not models: "; what is there: a ZIP archive, possibly a PyTorch
/// checkpoint ('a/pytorch_model.bin'); in all 1,204 files". Empty for an empty directory.
std::string rest_text(const TreeRest& rest);

}  // namespace modelutils
