// The only way text of a file reaches a person or a JSON document.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// Does the character leave no mark of its own on a screen? Unicode's Default_Ignorable_Code_Point: bidi controls and
/// marks, zero-width characters, fillers, variation selectors, tags, the byte order mark.
bool is_invisible(char32_t character);

/// Characters that must never reach a terminal raw: C0, DEL, C1, line and paragraph separators, annotation marks, and
/// all that is_invisible().
bool is_unsafe(char32_t character);

/// Does `text` hold an unsafe character or something that is not UTF-8?
bool needs_escape(std::string_view text);

/// `text` for a terminal, on one line: \n \r \t and \\ by letter, other unsafe characters as \u{202e}, bytes that are
/// not UTF-8 as \xff. A backslash is doubled, so the form can be read back.
std::string escape(std::string_view text);

/// The same, appended to `out`.
void append_escaped(std::string& out, std::string_view text);

/// As escape(), but shortened to at most `columns` terminal columns by cutting the end and appending "…".
std::string escape(std::string_view text, std::size_t columns);

/// The inside of a JSON string (without quotes) for UTF-8 text: unsafe characters as \uXXXX (pairs above the BMP).
/// `text` must be UTF-8.
std::string json_escape(std::string_view text);

/// As json_escape(), appended to `out`.
void append_json_escaped(std::string& out, std::string_view text);

/// One character escaped as JSON has it: in two characters where there is such a form (a line feed as \n), otherwise as
/// \uXXXX in lower case, of characters beyond U+FFFF the two surrogates.
void append_json_escape(std::string& out, char32_t value);

/// Standard base64 with padding.
std::string base64(std::string_view bytes);
/// The bytes again; nothing if it is not standard base64 with its padding.
std::optional<std::string> decode_base64(std::string_view text);

/// A field for CSV (RFC 4180): escape()d, quoted where needed, never a formula to a spreadsheet. docs/json.md has the
/// form.
std::string csv_field(std::string_view text);

/// Lower-case hexadecimal digits.
std::string hex(Bytes bytes);

}  // namespace modelutils
