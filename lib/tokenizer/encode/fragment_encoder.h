// Splits text without special tokens into tokens; one implementation per kind of vocabulary.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

class FragmentEncoder {
 public:
  virtual ~FragmentEncoder() = default;
  /// Appends the token ids of `text`. Error: "tok-uncut" if the vocabulary has no token for one of its bytes.
  virtual Status encode(std::string_view text, std::vector<u32>& ids) const = 0;
};

using EncoderPointer = std::unique_ptr<const FragmentEncoder>;

/// Merges within words, best rank first. Error: "tok-pre".
Result<EncoderPointer> make_bpe_encoder(const EncodeVocabulary& vocabulary);
/// Merges the pair whose joined token has the best score first.
EncoderPointer make_sentencepiece_encoder(const EncodeVocabulary& vocabulary);
/// Finds the most likely split.
EncoderPointer make_unigram_encoder(const EncodeVocabulary& vocabulary);
/// Splits each word from its start into the longest possible tokens.
EncoderPointer make_wordpiece_encoder(const EncodeVocabulary& vocabulary);
/// Takes the longest token at each position.
EncoderPointer make_rwkv_encoder(const EncodeVocabulary& vocabulary);
/// Finds the most likely split, working backwards from the end. Error: "tok-uncut" if a byte has no token.
Result<EncoderPointer> make_plamo2_encoder(const EncodeVocabulary& vocabulary);

/// Returns the error "tok-uncut".
tl::unexpected<Error> no_token_for(u8 byte);

}  // namespace modelutils::tokenizer
