// The two spellings of single bytes in vocabularies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::tokenizer {

/// U+2581, which stands for a space in SentencePiece.
inline constexpr std::string_view space_mark = "\u2581";

/// Returns the byte of a fallback token "<0x00>" … "<0xFF>" (two hexadecimal digits in either case); nullopt for other
/// texts.
std::optional<u8> byte_token_value(std::string_view text);
/// Returns "<0xHH>" in upper case.
std::string byte_token(u8 byte);

/// Returns a byte's symbol in byte-level BPE's alphabet, as UTF-8. Bytes 33-126, 161-172 and 174-255 map to the code
/// point with the same number; the other 68 map in increasing order to U+0100, U+0101, … (thus a space is U+0120).
std::string byte_symbol(u8 byte);

}  // namespace modelutils::tokenizer
