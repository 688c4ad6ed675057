// The two ways in which vocabularies spell single bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::tokenizer {

/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view space_mark = "\u2581";

/// The byte of a fallback token "<0x00>" … "<0xFF>" (two hexadecimal digits, either case); nothing for other texts.
std::optional<u8> byte_token_value(std::string_view text);
/// "<0xHH>", upper case.
std::string byte_token(u8 byte);

/// The symbol of a byte in byte-level BPE's alphabet, as UTF-8: bytes 33-126, 161-172 and 174-255 are the code point of
/// the same number, the other 68 in increasing order U+0100, U+0101, … (so a space is U+0120).
std::string byte_symbol(u8 byte);

}  // namespace modelutils::tokenizer
