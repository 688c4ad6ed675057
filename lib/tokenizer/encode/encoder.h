// Texts to tokens and back, as llama.cpp does it with the keys of a GGUF.
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
  bool add_special = false;    ///< the tokens that the file says begin and end a text
  bool parse_special = false;  ///< control and unknown tokens by their texts, not only user-defined ones
  bool is_prompt = false;      ///< a template wrote it: a token that it begins or ends with is not added once more
};

/// A tokenizer that is ready to run. Facts: docs/tokenizers.md, "Texts to tokens".
class Encoder {
 public:
  /// Errors: those of load_vocabulary(), "tok-pre" (a pre-tokenizer that llama.cpp does not know), "tok-uncut".
  static Result<Encoder> make(EncodeKeys keys);
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  ~Encoder();

  std::size_t size() const;  ///< tokens of the vocabulary

  /// The ids of the tokens of a text, whatever bytes it has. Time: that of its length, for one vocabulary. Errors:
  /// "tok-uncut" (nothing covers a byte or a character of it), "tok-special-missing" (a token that is to be added is
  /// not named).
  Result<std::vector<u32>> encode(std::string_view text, const EncodeOptions& options) const;

  /// What one token stands for, a part of a character perhaps; of control tokens their names. `id` is below size().
  std::string piece(u32 id) const;
  /// The text of tokens, their names included: without the space that was put before the first word, and of some
  /// pre-tokenizers without those before punctuation. Ids are below size().
  std::string decode(std::span<const u32> ids) const;

 private:
  struct Parts;
  explicit Encoder(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace modelutils::tokenizer
