// Decodes tokens to text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

/// Decodes GGUF's spelling of the bytes of an RWKV token: \t, \n, \r, \xHH, and \ before any other literal character.
std::string unescape_rwkv(std::string_view text);

/// Returns a token's bytes; for control tokens their names, for unused tokens an empty text.
std::string token_piece(const EncodeVocabulary& vocabulary, u32 id);

/// Concatenates the pieces. Removes the space before the first word and spaces before punctuation if the vocabulary
/// requires it.
std::string text_of_tokens(const EncodeVocabulary& vocabulary, std::span<const u32> ids);

}  // namespace modelutils::tokenizer
