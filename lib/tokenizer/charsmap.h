// SentencePiece's precompiled character map, which a normalizer uses for replacements: a double array and a list of
// texts.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/error.h"
#include "gguf/document.h"

namespace modelutils::tokenizer {

/// For a finding: texts for which Hugging Face's tokenizers use the map differently.
inline constexpr std::string_view charsmap_differences =
    "texts with combining marks or with CR LF line ends may be tokenised differently: Hugging Face's tokenizers map "
    "whole grapheme clusters, llama.cpp and SentencePiece the longest sequence in the map";

/// Checks that no text can lead a reader out of a character map. Layout: the size of the double array in bytes (4
/// bytes, little-endian), the array (units of 4 bytes), and texts that end with a zero byte. A unit with the highest
/// bit set gives the start of a text. Any other unit leads to the units whose index is its own XOR an offset XOR a
/// byte. Error: "hf-tok-charsmap".
Status check_charsmap(std::string_view bytes);

/// Reads and checks the map in a GGUF array. llama.cpp refuses a truncated map, and fails on texts that lead out of it.
/// Errors: "tok-charsmap" (damaged, not an array of bytes, more than 64 MiB); read errors.
Result<std::string> read_charsmap(const ByteSource& source, const gguf::ArrayRef& array);

}  // namespace modelutils::tokenizer
