// UTF-8 validation, decoding and encoding, and terminal width.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// True if all of `text` is valid UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF). NUL is valid.
bool is_utf8(std::string_view text);

/// The result of decoding one code point.
struct CodePoint {
  char32_t value = 0;    ///< meaningful only if `valid`
  std::size_t size = 1;  ///< bytes consumed: 1 for an invalid byte
  bool valid = false;
};

/// Decodes the first code point of `text`, which must not be empty.
CodePoint decode_utf8(std::string_view text);

/// Appends `value` (a valid code point) to `out`.
void append_utf8(std::string& out, char32_t value);

/// Returns the number of terminal columns that `text` occupies. Wide East Asian characters and emoji take two,
/// combining marks and controls none, invalid bytes one each. The widths come from utf8proc's Unicode tables.
std::size_t display_width(std::string_view text);

}  // namespace modelutils
