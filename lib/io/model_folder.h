// The files in a model's folder: their names (possibly millions), their presence, and the links among them and their
// targets; and caches of downloaded models that name files by checksum, whose files must never be changed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/os/files.h"
#include "base/types.h"
#include "io/random_access_file.h"

namespace modelutils {

// The names in one directory, possibly millions: stored in one block of text plus eight bytes each.

using os::EntryKind;

class DirectoryNames {
 public:
  /// Reads the names in `directory` ("" is the current one) for which `keep` returns true, except "." and "..", sorted
  /// by bytes. Errors: "io-open" if the directory cannot be listed completely.
  static Result<DirectoryNames> read(const std::string& directory,
                                     const std::function<bool(std::string_view name, EntryKind kind)>& keep);

  std::size_t size() const { return names_.size(); }
  std::string_view name(std::size_t number) const { return text_.data() + names_[number].at; }
  EntryKind kind(std::size_t number) const { return names_[number].kind; }
  /// True if `name` is among the kept names.
  bool contains(std::string_view name) const;

 private:
  struct Name {
    u32 at;
    EntryKind kind;
  };
  std::string text_;  // the names, each followed by a NUL
  std::vector<Name> names_;
};

// Caches of downloaded models that name files by checksum. Their files must never be changed.

/// Returns the cache that contains the resolved path: "Hugging Face" (models--…/blobs, models--…/snapshots, the blobs
/// shared by all repositories) or "Ollama" (blobs/sha256-…); empty if none does.
std::string_view download_cache_of(std::string_view resolved_path);

/// True if this is the folder name of a repository in a Hugging Face cache ("models--org--name", "datasets--…").
bool is_hub_repository_name(std::string_view base_name);

/// True if `path`, a folder named "blobs", holds the files that all repositories of a Hugging Face cache share. It is
/// recognised by a marker file in it or by repositories next to it.
bool is_shared_blobs(const std::string& path);

/// Root of the Hugging Face cache that contains the resolved path: the parent of the innermost "models--…" folder.
/// Empty if there is none.
std::string hub_cache_root(std::string_view resolved_path);

/// True if the file `path`, and every link on the way to its target, lies in a repository of the cache `root` or in its
/// shared blobs. False if a file is missing or the links form a cycle. `root` must be resolved.
bool stays_in_hub_cache(const std::string& root, const std::string& path);

/// Returns a message about a file in such a cache: "is in a cache of Ollama, where …".
std::string in_cache_text(std::string_view cache);

/// How to treat a file that a symbolic link takes from outside the model's folder. Links within the folder do not
/// count, nor do links that stay within a download cache (stays_in_hub_cache()).
enum class OutsideLinks : u8 {
  refuse,  ///< warn about weights, refuse text that would enter an output (verify, converters)
  warn,    ///< warn about weights, read text (tools that only display)
  follow   ///< read both without a warning (--follow-links)
};

/// The files of a folder that have been opened and parsed, so that each is opened once.
struct FolderMemory {
  std::map<std::string, std::shared_ptr<RandomAccessFile>, std::less<>> files;
  std::map<std::string, std::shared_ptr<void>, std::less<>> documents;  ///< json::Document (json/reader.h)
};

/// A model's folder as the user gave it ("" is the current one), and how to treat links that leave it.
struct ModelFolder {
  // NOLINTNEXTLINE(google-explicit-constructor): a path converts to a folder with the default link policy.
  ModelFolder(std::string folder_path, OutsideLinks outside_links = OutsideLinks::refuse)
      : path(std::move(folder_path)), links(outside_links) {}

  std::string path;
  OutsideLinks links;
  std::shared_ptr<FolderMemory> memory = std::make_shared<FolderMemory>();  ///< shared by all copies

  /// Returns the path of the file `name` in the folder.
  std::string file(std::string_view name) const;
};

/// True if `path` exists, even as a dangling link. False only for ENOENT and ENOTDIR: after other errors the file
/// counts as present, and opening it reports the error.
bool is_present(const std::string& path);

/// Returns the sorted names in a directory; none if it does not exist. Error: "io-open" if it cannot be listed
/// completely.
Result<std::vector<std::string>> list_if_present(const std::string& directory);

/// An opened regular file in a folder.
struct FolderFile {
  std::shared_ptr<RandomAccessFile> file;
  bool is_outside = false;           ///< a link led out of the folder and out of its cache
  bool is_below_linked_dir = false;  ///< a directory in the name's path is a link
};

/// Opens the regular file `name` (relative, may contain sub-directories) in `folder`. Resolves links first and then
/// opens the result without following links, so `is_outside` is guaranteed to describe the opened file. Codes:
/// "io-open", "io-directory", "io-not-regular".
Result<FolderFile> open_in_folder(const std::string& folder, std::string_view name);

/// Opens a text file next to the weights (config.json, a tokenizer, a template, a model card), or returns the one
/// already opened through this folder. Returns nullptr if there is none. Codes: those of open_in_folder(),
/// "io-link-outside".
Result<std::shared_ptr<RandomAccessFile>> open_side_file(const ModelFolder& folder, std::string_view name);

/// True if the error means that a file could not be opened or read (code "io-…"), regardless of its content.
bool is_read_failure(const Error& error);

}  // namespace modelutils
