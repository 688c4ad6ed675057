// Iterates over the characters of a text.
#pragma once

#include <string_view>

#include "base/utf8.h"
#include "template/python_text.h"

namespace modelutils::jinja {

/// Calls visit(character, offset, bytes) for each character until it returns false. Returns true if it never did.
template <typename Visit>
bool each_character(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text.substr(i));
    if (!visit(point.value, i, point.size)) return false;
    i += point.size;
  }
  return true;
}

/// The first character of a non-empty text, with a fast path for ASCII.
inline CodePoint first_of(std::string_view text) {
  const u8 byte = static_cast<u8>(text.front());
  return byte < 0x80 ? CodePoint{byte, 1, true} : decode_utf8(text);
}

/// Removes leading and trailing characters (depending on `side`) for which drop(bytes, character) is true.
template <typename Drop>
std::string_view strip_if(std::string_view text, Side side, const Drop& drop) {
  if (side != Side::right) {
    while (!text.empty()) {
      const CodePoint point = first_of(text);
      if (!drop(text.substr(0, point.size), point.value)) break;
      text.remove_prefix(point.size);
    }
  }
  if (side != Side::left) {
    while (!text.empty()) {
      std::size_t begin = text.size() - 1;
      while (begin > 0 && (static_cast<u8>(text[begin]) & 0xc0) == 0x80) --begin;
      if (!drop(text.substr(begin), first_of(text.substr(begin)).value)) break;
      text = text.substr(0, begin);
    }
  }
  return text;
}

}  // namespace modelutils::jinja
