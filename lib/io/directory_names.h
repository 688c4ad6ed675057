// The names in one directory, of which there may be millions: one block of text and eight bytes each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// What a name in a directory is, as far as the directory says it.
enum class EntryKind : u8 { file, directory, link, other };

class DirectoryNames {
 public:
  /// Reads the names of `directory` ("" is the current one), without "." and "..", for which `keep` says yes, sorted
  /// by their bytes. Errors: "io-open" if it cannot be listed to its end.
  static Result<DirectoryNames> read(const std::string& directory,
                                     const std::function<bool(std::string_view name, EntryKind kind)>& keep);

  std::size_t size() const { return names_.size(); }
  std::string_view name(std::size_t number) const { return text_.data() + names_[number].at; }
  EntryKind kind(std::size_t number) const { return names_[number].kind; }
  /// Is there such a name among those that were kept?
  bool contains(std::string_view name) const;

 private:
  struct Name {
    u32 at;
    EntryKind kind;
  };
  std::string text_;  // each name and a NUL
  std::vector<Name> names_;
};

}  // namespace modelutils
