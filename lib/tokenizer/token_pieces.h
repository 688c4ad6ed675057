// Tokens to text.
#pragma once

#include <span>
#include <string>

#include "tokenizer/encode_vocabulary.h"

namespace modelutils::tokenizer {

/// What a token stands for: bytes, of control tokens their names; nothing for unused ones.
std::string token_piece(const EncodeVocabulary& vocabulary, u32 id);

/// The pieces one after the other, without the space before the first word and without those before punctuation, where
/// the vocabulary says so.
std::string text_of_tokens(const EncodeVocabulary& vocabulary, std::span<const u32> ids);

}  // namespace modelutils::tokenizer
