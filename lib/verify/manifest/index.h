// Finds the lines of a manifest that are about a file, by the file's name, without scanning all lines. Internal.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "verify/manifest/entries.h"

namespace modelutils {

/// Built in one pass over the entries, which must outlive it and must not move.
class ManifestIndex {
 public:
  explicit ManifestIndex(const ManifestEntries& entries);

  /// A manifest entry about a file.
  struct Match {
    std::size_t entry = 0;       ///< number of the entry
    std::string_view rest = {};  ///< text manifests: the text after the file's name, "" or ":TENSOR"
  };
  /// Returns the entries for the file `name` (a base name or a relative path), in manifest order. In the
  /// "PATH/FILE:TENSOR" of a text manifest the name begins at the start or after a '/' or '\' and ends at the end or
  /// before a ':'; the leftmost match counts. (A name that begins with ':' or '\' after its leading slashes is not
  /// found in text.) The cost is proportional to the number of such entries.
  std::vector<Match> about(std::string_view name) const;
  /// Returns the file name shared by all entries with this base name; nullopt if there is none or more than one.
  /// Ignores text manifests.
  std::optional<std::string_view> only_name_with_base(std::string_view base) const;
  /// Entries that name no file: the manifest is about a single file.
  std::span<const std::size_t> unnamed() const { return unnamed_; }

 private:
  /// An entry under one of its keys: the base name of its file or, in a text manifest, a piece of its subject. A piece
  /// begins where a name can begin and ends before the next ':' at the latest.
  struct Place {
    u32 key = 0;  // hash of the key
    u32 entry = 0;
    u32 at = 0;  // offset of the base name or the piece
  };
  std::string_view text_from(const Place& place) const;
  std::span<const Place> places_of(std::string_view key) const;
  std::span<const Place> files_with_base(std::string_view base) const;

  const ManifestEntries& entries_;
  std::vector<Place> places_;  // sorted by key, text from `at` on, files before text, full name
  std::vector<std::size_t> unnamed_;
};

}  // namespace modelutils
