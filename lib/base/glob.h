// Shell-like patterns over names of keys and tensors.
#pragma once

#include <string_view>

namespace modelutils {

/// Does `pattern` match the whole of `text`? `*` any run of bytes (dots and slashes too), `?` one byte, `[a-z]` and
/// `[!a-z]` a class, `{a,b}` alternatives are not special, `\` takes the next byte as it is. An unclosed `[` stands for
/// itself. Time is at most pattern × text, whatever they are.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace modelutils
