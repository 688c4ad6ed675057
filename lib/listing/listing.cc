#include "listing/listing.h"

#include <algorithm>

#include "base/glob.h"

namespace modelutils {

bool selects(const std::vector<std::string>& globs, std::string_view name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, name); });
}

}  // namespace modelutils
