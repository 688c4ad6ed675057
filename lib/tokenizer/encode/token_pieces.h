// Tokens to text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

/// How a GGUF spells the bytes of an RWKV token: \t, \n, \r, \xHH, and \ before any other character for itself.
std::string unescape_rwkv(std::string_view text);

/// What a token stands for: bytes, of control tokens their names; nothing for unused ones.
std::string token_piece(const EncodeVocabulary& vocabulary, u32 id);

/// The pieces one after the other, without the space before the first word and without those before punctuation, where
/// the vocabulary says so.
std::string text_of_tokens(const EncodeVocabulary& vocabulary, std::span<const u32> ids);

}  // namespace modelutils::tokenizer
