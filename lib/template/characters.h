// The characters of a text, one by one.
#pragma once

#include <string_view>

#include "base/utf8.h"

namespace modelutils::jinja {

/// Calls visit(character, place, bytes) for each until it returns false; whether it never did.
template <typename Visit>
bool each_character(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text.substr(i));
    if (!visit(point.value, i, point.size)) return false;
    i += point.size;
  }
  return true;
}

}  // namespace modelutils::jinja
