// What cuts a text without special tokens in it into tokens: one for each kind of vocabulary.
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
  /// Appends the ids of the tokens of `text`. Error "tok-uncut": the vocabulary has no token for a byte of it.
  virtual Status encode(std::string_view text, std::vector<u32>& ids) const = 0;
};

using EncoderPointer = std::unique_ptr<const FragmentEncoder>;

/// Merges within words, the one with the best rank first. Error "tok-pre".
Result<EncoderPointer> make_bpe_encoder(const EncodeVocabulary& vocabulary);
/// Joins what makes the token with the best score first.
EncoderPointer make_sentencepiece_encoder(const EncodeVocabulary& vocabulary);
/// The most likely way to cut the text.
EncoderPointer make_unigram_encoder(const EncodeVocabulary& vocabulary);
/// Words, each from its beginning by its longest tokens.
EncoderPointer make_wordpiece_encoder(const EncodeVocabulary& vocabulary);
/// The longest token at each place.
EncoderPointer make_rwkv_encoder(const EncodeVocabulary& vocabulary);
/// The most likely way, found from the end. Error "tok-uncut": no token for each byte.
Result<EncoderPointer> make_plamo2_encoder(const EncodeVocabulary& vocabulary);

/// "tok-uncut".
tl::unexpected<Error> no_token_for(u8 byte);

}  // namespace modelutils::tokenizer
