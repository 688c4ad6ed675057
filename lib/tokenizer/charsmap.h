// SentencePiece's precompiled map of characters: what a normalizer replaces, as a double array and a list of texts.
#pragma once

#include <string_view>

#include "base/error.h"

namespace modelutils::tokenizer {

/// For a finding: where Hugging Face's tokenizers use the map differently.
inline constexpr std::string_view charsmap_differences =
    "texts with combining marks or with CR LF line ends may be tokenised differently: Hugging Face's tokenizers map "
    "what is "
    "one character to a reader at once, llama.cpp and SentencePiece the longest sequence that the map has";

/// Is a map of characters whole, so that no text leads a reader out of it? Its layout: the size of the double array in
/// bytes (4 bytes, little-endian), the array (units of 4 bytes), texts that end with a zero byte. A unit with the
/// highest bit set says where a text begins; any other leads to units whose index differs from its own by an offset
/// (XOR) and a byte. Error "hf-tok-charsmap".
Status check_charsmap(std::string_view bytes);

}  // namespace modelutils::tokenizer
