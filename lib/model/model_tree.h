// The models in and below a directory: which files and folders there are one model each, and which are none.
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
  /// `follow`: links to directories are followed, too. Links to files always are.
  OutsideLinks links = OutsideLinks::refuse;
  /// Patterns (base/glob.h) of files and folders that are left out, with everything below; of the base name or of the
  /// path from the root on.
  std::vector<std::string> exclude;
  /// Tell of every revision in a Hugging Face cache, even if its weights and its config.json are those of another.
  bool all_revisions = false;
  /// Only models of which a file was modified later than this: nanoseconds since 1970.
  std::optional<i64> newer_than;
};

/// Something to look at in a tree.
struct TreeEntry {
  std::string path;                   ///< begins with the root as it was given; the root itself if it is a model
  std::string folder;                 ///< that the names of the model's files begin with below the root: "", "sub/"
  u64 bytes = 0;                      ///< of the model's files
  bool is_shard_group = false;        ///< `path` is the first of several shards that are a model without an index
  bool is_manifest = false;           ///< one of Ollama's (model/ollama_manifest.h), which names the model's files
  bool is_cache = false;              ///< no model, but a folder of a download cache (verify/cache/cache_folder.h)
  std::optional<Error> problem = {};  ///< no model, but a folder that cannot be listed ("io-open")
};

/// What was there besides models.
struct TreeRest {
  struct Kind {
    u64 count = 0;
    std::string first;  ///< the path from the root on
  };
  u64 files = 0;                   ///< all that belong to no model
  std::map<FileKind, Kind> kinds;  ///< of those that were looked into
  Kind side_files;                 ///< config.json without weights next to it
  Kind unfinished;                 ///< downloads that have not come to their end
  Kind datasets;                   ///< repositories of a download cache that hold no models
  u64 left_out = 0;                ///< models that TreeOptions leave out
  u64 repeated = 0;                ///< models whose every file was met before under another name
};

/// Hands every model in and below the directory `root` to `found`, a folder's models before those of its folders, all
/// sorted by name; stops when `found` returns false. A directory with config.json and weights, or with an index, is one
/// entry, and so is one whose only weights are one file or one set of shards; GGUF parts of one model are one entry.
/// What a file is, its name says if it ends like a model's, else its first bytes. Manifests of Ollama are models, the
/// blobs of caches are none. Hidden files, `.git` and the bookkeeping of download caches are not looked at. A model
/// each of whose files (device and inode) was met before, in the same repository of a Hugging Face cache if it is in
/// one, is not a second entry; a directory is entered once. Memory: the names of one folder at a time for each level,
/// without those that no model has, and sixteen bytes a file of a model, in a Hugging Face cache twice that.
TreeRest walk_models(const std::string& root, const TreeOptions& options,
                     const std::function<bool(TreeEntry entry)>& found);

/// "; what is there: a ZIP archive, possibly a PyTorch checkpoint ('a/pytorch_model.bin'); in all 1,204 files": what
/// was there instead of models. Empty for an empty directory.
std::string rest_text(const TreeRest& rest);

}  // namespace modelutils
