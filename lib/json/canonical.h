// JSON in the one form that a hash can be taken of: what Python's json.dumps gives with sort_keys, separators "," and
// ":" and ensure_ascii. Source: docs/formats/bump5.md, "Metadata".
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace modelutils::json {

/// Keys sorted by code point (of equal ones the last counts), no blanks, text in ASCII, floats as the shortest decimal
/// of the double with a point or an exponent.
std::string canonical_text(Element value);

/// The same JSON text with every character above U+007F as \uXXXX (pairs of them above U+FFFF). `json` is valid JSON.
std::string ascii_text(std::string_view json);

}  // namespace modelutils::json
