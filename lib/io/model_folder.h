// The files in a model's folder: their presence, and the links among them and their targets. No other code checks this.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/random_access_file.h"

namespace modelutils {

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
