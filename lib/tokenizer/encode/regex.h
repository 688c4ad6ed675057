// The regexes of pre-tokenizers, run as llama.cpp runs them: by std::regex, over an alphabet of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::tokenizer {

/// What a regex sees of a text. With \p{…} in it, each character outside ASCII is only its class (letter, mark, number,
/// punctuation, symbol, space, anything else), so that \p{Lu} is any letter and a range is of ASCII; without, it is the
/// character itself. In both \s has the spaces of ASCII, of which the vertical tab stands for all others.
enum class RegexAlphabet : u8 { classes, characters };

/// What a text is in both.
struct RegexText {
  explicit RegexText(std::span<const char32_t> points);
  std::vector<char32_t> classes, characters;
  const std::vector<char32_t>& in(RegexAlphabet alphabet) const {
    return alphabet == RegexAlphabet::classes ? classes : characters;
  }
};

/// A compiled regex: alternatives, groups, ? * + {n} {n,m}, classes with ranges and `&&[^\p{Han}]`, \p{L} (Lu, Ll, Lt,
/// Lm, Lo alike) \p{M} \p{N} \p{P} \p{S} \p{Han}, \s \S \d \r \n \t, (?i:…) in ASCII, (?=x) and (?!x) of one character,
/// $. The leftmost match counts, of those the one that the earlier alternative and the greedier repetition give.
class EncodeRegex {
 public:
  /// Error, internal: a regex with something else in it, or one that matches the empty text or repeats it.
  static Result<EncodeRegex> compile(std::string_view regex);

  RegexAlphabet alphabet() const { return alphabet_; }
  /// Cuts each of `pieces` (lengths in characters, which add up to the text's) before and behind every match. Time and
  /// memory: the text's length times the regex's.
  std::vector<u32> cut(const RegexText& text, std::span<const u32> pieces) const;

  struct Set {
    std::vector<std::pair<char32_t, char32_t>> ranges;  ///< sorted
    std::vector<bool> low = std::vector<bool>(256);     ///< the same for small ones
    bool negated = false;
    bool contains(char32_t symbol) const;
  };
  enum class Op : u8 { one, look, look_not, end, split, match };
  struct Step {
    Op op = Op::match;
    u32 set = 0;        ///< one, look, look_not
    u32 next = 0;       ///< where it goes on; of a split what is tried first
    u32 otherwise = 0;  ///< split
    i32 loop = -1;      ///< the number of a split that repeats something
  };

 private:
  friend class EncodeRegexCompiler;
  class Search;
  RegexAlphabet alphabet_ = RegexAlphabet::characters;
  std::vector<Set> sets_;
  std::vector<Step> steps_;
  u32 first_ = 0;
  u32 loops_ = 0;
};

}  // namespace modelutils::tokenizer
