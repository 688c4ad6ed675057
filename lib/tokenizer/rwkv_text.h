// How a GGUF spells the bytes of an RWKV token.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::tokenizer {

/// \t, \n, \r, \xHH, and \ before any other character for itself.
std::string unescape_rwkv(std::string_view text);

}  // namespace modelutils::tokenizer
