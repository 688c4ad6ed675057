// The files of a model's folder: which are there, which are links, and where those lead. The only place that answers
// it.
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

/// What becomes of a file that a symbolic link fetches from outside the model's folder. Links inside the folder, and
/// those in a download cache that never leave it (stays_in_hub_cache()), are not outside.
enum class OutsideLinks : u8 {
  refuse,  ///< a warning for weights; text that would enter an output is refused: verify and the converters
  warn,    ///< a warning for weights, text is read: what only shows
  follow   ///< --follow-links: both are read without a word
};

/// What was opened and read of a folder, so that each file is opened once however many ask for it.
struct FolderMemory {
  std::map<std::string, std::shared_ptr<RandomAccessFile>, std::less<>> files;
  std::map<std::string, std::shared_ptr<void>, std::less<>> documents;  ///< json::Document (json/reader.h)
};

/// A model's folder as the user gave it ("" is the current one), and what he wants of links out of it.
struct ModelFolder {
  // NOLINTNEXTLINE(google-explicit-constructor): a path is a folder with the usual manners.
  ModelFolder(std::string folder_path, OutsideLinks outside_links = OutsideLinks::refuse)
      : path(std::move(folder_path)), links(outside_links) {}

  std::string path;
  OutsideLinks links;
  std::shared_ptr<FolderMemory> memory = std::make_shared<FolderMemory>();  ///< shared by all copies

  /// Path of the file `name` of the folder.
  std::string file(std::string_view name) const;
};

/// Is there anything of that name, be it a dangling link? Only ENOENT and ENOTDIR mean no: what cannot be examined for
/// another reason is there, and opening it says what is wrong with it.
bool is_present(const std::string& path);

/// The names in a directory, sorted; none if there is no such directory. Error "io-open" if it cannot be read to its
/// end.
Result<std::vector<std::string>> list_if_present(const std::string& directory);

/// A regular file of a folder, opened.
struct FolderFile {
  std::shared_ptr<RandomAccessFile> file;
  bool is_outside = false;           ///< a link led out of the folder and not into its cache
  bool is_below_linked_dir = false;  ///< one of the directories that the name goes through is a link
};

/// Opens the regular file `name` (relative, may go through sub-directories) of the folder `folder`. What is opened is
/// the very file of which `is_outside` speaks: links are resolved first, and then none is followed any more. Codes:
/// "io-open", "io-directory", "io-not-regular".
Result<FolderFile> open_in_folder(const std::string& folder, std::string_view name);

/// Opens a file of text next to the weights (config.json, a tokenizer, a template, a model card), or gives the one that
/// was opened through the folder before; nullptr if there is none. Codes: those of open_in_folder(), "io-link-outside".
Result<std::shared_ptr<RandomAccessFile>> open_side_file(const ModelFolder& folder, std::string_view name);

/// Could a file not be opened or read (the family "io-"), whatever is in it?
bool is_read_failure(const Error& error);

}  // namespace modelutils
