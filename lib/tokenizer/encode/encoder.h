// Encodes texts to tokens and decodes them like llama.cpp, from the keys of a GGUF. Special tokens are found by their
// texts first.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/prefix_table.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils::tokenizer {

// Finds special tokens by their texts before the rest of a text is tokenized.

/// A special token found in the text, or a part of the text that is still to be tokenized.
struct TextFragment {
  std::optional<u32> token;
  std::string_view text;  ///< if there is no token; not empty
};

/// Finds the texts of tokens in a text: longer ones first, leftmost first among equals.
class SpecialTokens {
 public:
  explicit SpecialTokens(const EncodeVocabulary& vocabulary);

  /// Splits a text at special tokens. `parse_special` includes control and unknown tokens besides user-defined ones.
  /// Linear in the text.
  std::vector<TextFragment> partition(std::string_view text, bool parse_special) const;

 private:
  const EncodeVocabulary& vocabulary_;
  std::vector<u32> order_;  // token ids, longest text first
  std::vector<u32> rank_;   // position of each token in `order_`
  PrefixTable table_;
};

// Decodes tokens to text.

/// Decodes GGUF's spelling of the bytes of an RWKV token: \t, \n, \r, \xHH, and \ before any other literal character.
std::string unescape_rwkv(std::string_view text);

/// Returns a token's bytes; for control tokens their names, for unused tokens an empty text.
std::string token_piece(const EncodeVocabulary& vocabulary, u32 id);

/// Concatenates the pieces. Removes the space before the first word and spaces before punctuation if the vocabulary
/// requires it.
std::string text_of_tokens(const EncodeVocabulary& vocabulary, std::span<const u32> ids);

struct EncodeOptions {
  bool add_special = false;    ///< add the tokens that begin and end a text according to the file
  bool parse_special = false;  ///< recognise control and unknown tokens by their texts, not only user-defined ones
  bool is_prompt = false;      ///< the text comes from a template: a token that it already begins or ends with is not
                               ///< added again
};

/// A tokenizer ready for use. Facts: docs/tokenizers.md, "Texts to tokens".
class Encoder {
 public:
  /// Builds the tokenizer. Errors: those of load_vocabulary(); "tok-pre" (a pre-tokenizer that llama.cpp does not
  /// know); "tok-uncut".
  static Result<Encoder> make(EncodeKeys keys);
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  ~Encoder();

  std::size_t size() const;  ///< number of tokens in the vocabulary

  /// Returns the token ids of any text, which need not be UTF-8. For a given vocabulary the time is linear in the
  /// text's length. Errors: "tok-uncut" (no token covers a byte or character); "tok-special-missing" (a token to be
  /// added is not defined).
  Result<std::vector<u32>> encode(std::string_view text, const EncodeOptions& options) const;

  /// Returns the bytes of one token, possibly part of a character; for control tokens their names. `id` must be less
  /// than size().
  std::string piece(u32 id) const;
  /// Returns the text of tokens, including the names of control tokens. Removes the space added before the first word
  /// and, for some pre-tokenizers, spaces before punctuation. Ids must be less than size().
  std::string decode(std::span<const u32> ids) const;

 private:
  struct Parts;
  explicit Encoder(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace modelutils::tokenizer
