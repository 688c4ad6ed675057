// JSON in a canonical form, for hashing: the output of Python's json.dumps with sort_keys, separators "," and ":" and
// ensure_ascii. Source: docs/formats/bump5.md, "Metadata".
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace modelutils::json {

/// Writes `value` with keys sorted by code point (the last of equal keys wins), no white space, ASCII text, and floats
/// as the shortest decimal that parses to the same double, with a point or an exponent.
std::string canonical_text(Element value);

/// Returns `json`, which must be valid, with every character above U+007F as \uXXXX (surrogate pairs above U+FFFF).
std::string ascii_text(std::string_view json);

}  // namespace modelutils::json
