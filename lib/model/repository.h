// Lists a repository at an address: its GGUF models, and the files beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace modelutils {

/// A file, or the files of a split GGUF model.
struct RepositoryEntry {
  std::string name;  ///< with its folders; of several files the first
  u64 files = 1;
  u64 bytes = 0;                  ///< of all
  std::optional<bool> fits = {};  ///< of a model, if it was asked: into what memory there is (memory::fits_by_size())
};

struct Repository {
  std::string path;                     ///< as the user gave it
  std::string commit;                   ///< empty if the Hub does not say it
  std::vector<RepositoryEntry> models;  ///< GGUF models, by name
  std::vector<RepositoryEntry> others;  ///< every other file, by name

  /// Returns the address of an entry.
  std::string path_of(const RepositoryEntry& entry) const;
};

/// Lists the repository or folder at an address. Projectors ("mmproj…") and importance matrices are not listed as
/// models. Codes: those of remote_listing(), "remote-missing" (the folder is empty).
Result<Repository> list_repository(const std::string& path);

}  // namespace modelutils
