// Makes names from a file usable as JSON member names.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"

namespace modelutils {

/// Makes member names unique and valid UTF-8. An invalid byte becomes U+FFFD; a repeated name becomes "NAME#2".
class MemberNames {
 public:
  /// Returns the name to use, valid as long as this object and `text`. Sets `altered` if it differs from the text.
  std::string_view claim(std::string_view text, bool& altered);

 private:
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  NameIndex names_;
  std::vector<u64> uses_;  // uses of each name, by its number
  std::deque<std::string> kept_;
};

}  // namespace modelutils
