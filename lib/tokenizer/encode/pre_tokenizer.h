// llama.cpp's pre-tokenizers, which split a text into the words that merges do not cross.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/regex.h"

namespace modelutils::tokenizer {

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
