// Keys and their values as text.
#pragma once

#include <string>

#include "io/text_output.h"
#include "listing/listing.h"

namespace modelutils {

/// Returns a scalar as text: shortest decimals, "true", strings escaped. Empty for arrays.
std::string scalar_text(const ListedValue& value);
/// Returns for example "u32" or "string[128,256]".
std::string key_type_text(const ListedKey& key);
/// Returns the beginning of a value on one line, about `columns` wide: strings escaped, arrays as "[a, b, …]". Errors:
/// those of reading.
Result<std::string> preview(const ListedValue& value, std::size_t columns);

/// Writes the value as stored (escaped if for_terminal), arrays with one element per line, inner arrays as JSON; always
/// ends with a line feed. Errors: those of reading.
Status write_value(TextOutput& out, const ListedValue& value, bool for_terminal);

}  // namespace modelutils
