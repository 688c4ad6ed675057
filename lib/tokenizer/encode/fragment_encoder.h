// Splits text without special tokens into tokens; one implementation per kind of vocabulary. Pre-tokenizers split a
// text into the words that merges do not cross.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/regex.h"
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

// llama.cpp's pre-tokenizers, which split a text into the words that merges do not cross.

/// Several splits in sequence; each splits the pieces of the previous one.
class PreTokenizer {
 public:
  /// `pre` is a value of tokenizer.ggml.pre; empty means "default". Error: "tok-pre" (a name that llama.cpp does not
  /// know).
  static Result<PreTokenizer> make(std::string_view pre);

  /// Returns the lengths of a text's pieces in characters. They add up to the text's length; some may be 0.
  std::vector<u32> cut(const std::vector<char32_t>& points) const;

 private:
  enum class Digits : u8 {
    none,
    before_groups,  ///< before each group of three ASCII digits, counted from the end of a run
    from_the_right  ///< after the first one or two numbers of a run and after each three that follow
  };
  struct Split {
    Digits digits = Digits::none;
    std::vector<EncodeRegex> regex = {};  ///< one regex if `digits` is none
  };
  std::vector<Split> splits_;
};

}  // namespace modelutils::tokenizer
