// Which lines of a manifest are about a file: found by the file's name, whatever the number of lines and of files.
// Internal.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "verify/manifest/entries.h"

namespace modelutils {

/// Made in one pass over the entries, which must outlive it and stay where they are.
class ManifestIndex {
 public:
  explicit ManifestIndex(const ManifestEntries& entries);

  /// An entry about a file.
  struct Match {
    std::size_t entry = 0;       ///< its number
    std::string_view rest = {};  ///< text manifests: what follows the file's name, "" or ":TENSOR"
  };
  /// The entries that name the file `name` (a base name, or one that begins in a folder), in the order of the manifest.
  /// In the "PATH/FILE:TENSOR" of a text manifest the name begins at the start or after a '/' or '\' and ends at the
  /// end or before a ':'; the leftmost place counts. (A name that begins with ':' or '\', slashes
  /// aside, is not found in text.) Costs as much as there are such entries.
  std::vector<Match> about(std::string_view name) const;
  /// The file name that all entries with this base name have; nothing where there is none, or several. Not of text
  /// manifests.
  std::optional<std::string_view> only_name_with_base(std::string_view base) const;
  /// Entries that name no file: the manifest is about one alone.
  std::span<const std::size_t> unnamed() const { return unnamed_; }

 private:
  /// An entry under one of its keys: the base name of its file, or in a text manifest a piece of its subject that is a
  /// name up to its first ':' at most.
  struct Place {
    u32 key = 0;  // its hash
    u32 entry = 0;
    u32 at = 0;  // where the base name or the piece begins
  };
  std::string_view text_from(const Place& place) const;
  std::span<const Place> places_of(std::string_view key) const;
  std::span<const Place> files_with_base(std::string_view base) const;

  const ManifestEntries& entries_;
  std::vector<Place> places_;  // by key, by the text from `at` on, files before text, then by the whole name
  std::vector<std::size_t> unnamed_;
};

}  // namespace modelutils
