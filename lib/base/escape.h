// Escapes text from files. All such text must pass through here before it is printed or written as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// True if the character is not visible on a screen: Unicode's Default_Ignorable_Code_Point (bidi controls and marks,
/// zero-width characters, fillers, variation selectors, tags, the byte order mark).
bool is_invisible(char32_t character);

/// True for characters that must never reach a terminal unescaped: C0, DEL, C1, line and paragraph separators,
/// annotation marks, and everything for which is_invisible() is true.
bool is_unsafe(char32_t character);

/// True if `text` contains an unsafe character or invalid UTF-8.
bool needs_escape(std::string_view text);

/// Escapes `text` for one line on a terminal: \n \r \t and \\ by letter, other unsafe characters as \u{202e}, bytes
/// that are not UTF-8 as \xff. Backslashes are doubled, so the result can be decoded without ambiguity.
std::string escape(std::string_view text);

/// Like escape(), but appends to `out`.
void append_escaped(std::string& out, std::string_view text);

/// Like escape(), but cuts the result to at most `columns` terminal columns and appends "…" if it was cut.
std::string escape(std::string_view text, std::size_t columns);

/// Appends `text` as the inside of a JSON string, without quotes. Unsafe characters become \uXXXX (surrogate pairs
/// above the BMP). `text` must be UTF-8; invalid bytes become U+FFFD.
void append_json_escaped(std::string& out, std::string_view text);

/// Appends one character in JSON's escaped form: the two-character form if there is one (\n for a line feed), otherwise
/// \uXXXX in lower case, as two surrogates above U+FFFF.
void append_json_escape(std::string& out, char32_t value);

/// Standard base64 with padding.
std::string base64(std::string_view bytes);
/// Decodes base64, or returns nullopt if `text` is not standard base64 with padding.
std::optional<std::string> decode_base64(std::string_view text);

/// Returns a CSV field (RFC 4180): escaped as by escape(), quoted where needed, and written so that spreadsheets do not
/// take it for a formula. docs/json.md describes the form.
std::string csv_field(std::string_view text);

/// Returns `bytes` as lower-case hexadecimal digits.
std::string hex(Bytes bytes);

}  // namespace modelutils
