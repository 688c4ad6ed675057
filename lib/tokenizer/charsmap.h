// SentencePiece's precompiled map of characters: what a normalizer replaces, as a double array and a list of texts.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/error.h"
#include "gguf/document.h"

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

/// The map that a GGUF has as an array, checked. llama.cpp refuses one that is cut off, and fails on texts that lead
/// out of it. Error "tok-charsmap" (damaged, not an array of bytes, more than 64 MiB), those of reading.
Result<std::string> read_charsmap(const ByteSource& source, const gguf::ArrayRef& array);

}  // namespace modelutils::tokenizer
