// Encodes texts to tokens and decodes them like llama.cpp, from the keys of a GGUF.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/keys.h"

namespace modelutils::tokenizer {

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
