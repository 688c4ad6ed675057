// Which lines of a manifest are about a file: found by the file's name, whatever the number of lines and of files.
// Internal.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

/// Made in one pass over the entries, which must outlive it and stay where they are.
class ManifestIndex {
 public:
  explicit ManifestIndex(std::span<const ManifestEntry> entries);

  /// An entry about a file.
  struct Match {
    std::size_t entry = 0;       ///< its number
    std::string_view rest = {};  ///< text manifests: what follows the file's name, "" or ":TENSOR"
  };
  /// The entries that name the file `name` (a base name, or one that begins in a folder), in the order of the manifest.
  /// In the "PATH/FILE:TENSOR" of a text manifest the name begins at the start or after a '/' or '\' and ends at the
  /// end or before a ':'; the leftmost place counts. (A name that begins with ':' or '\' is not found in text.) Costs
  /// as much as there are entries about files of that base name.
  std::vector<Match> about(std::string_view name) const;
  /// Entries that name no file: the manifest is about one alone.
  std::span<const std::size_t> unnamed() const { return unnamed_; }

 private:
  /// An entry under one of its keys: the whole file name, or in a text manifest a piece of its subject that is a name
  /// up to its first ':' at most.
  struct Place {
    u32 key = 0;  // number in keys_
    u32 entry = 0;
    u32 at = 0;  // where the piece begins
  };
  void add_subject(u32 entry, std::string_view subject);
  std::string_view text_from(const Place& place) const;

  std::span<const ManifestEntry> entries_;
  NameIndex keys_;
  std::vector<Place> places_;             // by key, then by the text from `at` on
  std::vector<std::size_t> first_place_;  // of each key; one more at the end
  std::vector<std::size_t> unnamed_;
};

}  // namespace modelutils
