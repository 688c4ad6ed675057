// Names of JSON members made of names in a file.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"

namespace modelutils {

/// Member names must differ, whatever a file holds. Names that are not UTF-8, and second occurrences, get another one:
/// U+FFFD for each bad byte, "NAME#2".
class MemberNames {
 public:
  /// The name to use, which lives as long as this object and `text`; `altered` if it is not the text itself.
  std::string_view claim(std::string_view text, bool& altered);

 private:
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  NameIndex names_;
  std::vector<u64> uses_;  // by number of the name
  std::deque<std::string> kept_;
};

}  // namespace modelutils
