// Lists a repository at an address: its GGUF models, and the files beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// A file, or the files of a split GGUF model.
struct RepositoryEntry {
  std::string name;  ///< path in the repository; for several files, the first one's
  u64 files = 1;
  u64 bytes = 0;  ///< total size of the files
  /// Set if requested: whether the model fits into the available memory (memory::fits_by_size()).
  std::optional<bool> fits = {};
};

struct Repository {
  std::string path;                     ///< as the user gave it
  std::string commit;                   ///< empty if the Hub does not report it
  std::vector<RepositoryEntry> models;  ///< GGUF models, by name
  std::vector<RepositoryEntry> others;  ///< every other file, by name

  /// Returns the address of an entry.
  std::string path_of(const RepositoryEntry& entry) const;
};

/// Lists the repository or folder at an address. Projectors ("mmproj…") and importance matrices are not listed as
/// models. Codes: those of remote_listing(), "remote-missing" (the folder is empty).
Result<Repository> list_repository(const std::string& path);

}  // namespace modelutils
