// The names in one directory, possibly millions: stored in one block of text plus eight bytes each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// The type of a directory entry.
enum class EntryKind : u8 { file, directory, link, other };

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

}  // namespace modelutils
