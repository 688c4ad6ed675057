// What the escapes of a string in a template mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace modelutils::jinja {

/// The text between the quotes as Python's codec "unicode-escape" reads it; an escape that it does not know stays as it
/// is. Nothing, and `error`, for what is cut off, and for what we refuse: names of characters and surrogates.
std::optional<std::string> unescaped(std::string_view text, std::string& error);

}  // namespace modelutils::jinja
