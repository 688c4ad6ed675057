// How a pre-tokenizer of llama.cpp cuts a text into the words that merges stay within.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/regex.h"

namespace modelutils::tokenizer {

/// One after the other, each within the pieces of the one before.
class PreTokenizer {
 public:
  /// `pre`: a value of tokenizer.ggml.pre; empty is "default". Error "tok-pre": a name that llama.cpp does not know.
  static Result<PreTokenizer> make(std::string_view pre);

  /// The pieces of a text: lengths in characters, which add up to the text's; some may be 0.
  std::vector<u32> cut(const std::vector<char32_t>& points) const;

 private:
  enum class Digits : u8 {
    none,
    before_groups,  ///< before each group of three digits (ASCII), counted from the end of a run
    from_the_right  ///< behind the first one or two numbers of a run and behind every three that follow
  };
  struct Split {
    Digits digits = Digits::none;
    std::vector<EncodeRegex> regex = {};  ///< one where `digits` is none
  };
  std::vector<Split> splits_;
};

}  // namespace modelutils::tokenizer
