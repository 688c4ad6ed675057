#include "base/place.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace modelutils {

std::string Place::text() const {
  constexpr std::size_t most = 120;
  if (name.size() <= most) return fmt::format("{} '{}'", noun, name);
  std::size_t cut = 0;
  while (true) {
    const std::size_t next = cut + decode_utf8(name.substr(cut)).size;
    if (next > most) break;
    cut = next;
  }
  return fmt::format("{} '{}…'", noun, name.substr(0, cut));
}

}  // namespace modelutils
