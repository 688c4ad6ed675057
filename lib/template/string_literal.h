// Decodes the escapes in string literals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace modelutils::jinja {

/// Decodes the text between the quotes like Python's "unicode-escape" codec; unknown escapes stay unchanged. Returns
/// nullopt and sets `error` for incomplete escapes, and for those we do not support: \N{…} and surrogates.
std::optional<std::string> unescaped(std::string_view text, std::string& error);

}  // namespace modelutils::jinja
