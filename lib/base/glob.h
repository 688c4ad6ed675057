// Shell-like patterns over names of keys and tensors.
#pragma once

#include <string_view>

namespace modelutils {

/// True if `pattern` matches all of `text`. `*` matches any run of bytes (including dots and slashes), `?` one byte,
/// `[a-z]` a byte in the class and `[!a-z]` one outside it; `\` makes the next byte literal. An unclosed `[` matches
/// itself. There are no `{a,b}` alternatives. Takes at most O(pattern × text) time for any input.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace modelutils
