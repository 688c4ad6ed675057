// UTF-8: validation and stepping.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Is all of `text` UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF)? NUL is valid. By hand,
/// though simdjson has it: most texts are tokens of a few bytes, and for those the call costs more than the work.
bool is_utf8(std::string_view text);

/// One step through `text`: the code point at its beginning.
struct CodePoint {
  char32_t value = 0;    ///< meaningful only if `valid`
  std::size_t size = 1;  ///< bytes to pass over: 1 for an invalid byte
  bool valid = false;
};

/// Decodes the first code point of `text`, which must not be empty.
CodePoint decode_utf8(std::string_view text);

/// Appends `value` (a valid code point) to `out`.
void append_utf8(std::string& out, char32_t value);

/// Number of terminal columns that `text` takes: wide East Asian characters and emoji count two, combining marks and
/// controls none, invalid bytes one each. Source of the widths: utf8proc's tables of Unicode.
std::size_t display_width(std::string_view text);

}  // namespace modelutils
