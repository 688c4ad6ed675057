// UTF-8 validation, decoding and encoding, terminal width, and how to fit printable, escaped text into a number of
// terminal columns.
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

// Fits printable text into a number of terminal columns. The text must already be escaped (escape()).

/// `text` cut to `columns` terminal columns, the last of which is "…" if it was cut.
std::string cut_text(std::string_view text, std::size_t columns);

/// Like cut_text(), but cuts the middle, as the end of a tensor name or path matters as much as the beginning:
/// "model.layers.10…down_proj.weight".
std::string cut_middle(std::string_view text, std::size_t columns);

/// Appends `text`, wrapped at spaces to lines shorter than `width`, and a line feed. The first line continues at
/// `column`; the others start with `indent` spaces. A word longer than a line is not split.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent, std::size_t width);

}  // namespace modelutils
