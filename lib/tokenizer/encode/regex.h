// Runs the regexes of pre-tokenizers like llama.cpp, which uses std::regex over its own alphabet.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/encode/characters.h"

namespace modelutils::tokenizer {

// The symbols that represent character classes in the alphabet of regexes with \p{…} (RegexAlphabet::classes).

/// Represents any space outside ASCII.
inline constexpr char32_t any_other_space = 0x0b;

/// All above ASCII. Han characters have their own symbols, for the one regex that distinguishes them.
enum ClassSymbol : char32_t {
  other_symbol = 0x80,
  letter_symbol,
  mark_symbol,
  number_symbol,
  punctuation_symbol,
  symbol_symbol,
  han_letter_symbol,
  han_other_symbol,
};

inline char32_t class_symbol(CharacterClass of, bool is_han) {
  if (is_han) return of == CharacterClass::letter ? han_letter_symbol : han_other_symbol;
  switch (of) {
    case CharacterClass::letter: return letter_symbol;
    case CharacterClass::mark: return mark_symbol;
    case CharacterClass::number: return number_symbol;
    case CharacterClass::punctuation: return punctuation_symbol;
    case CharacterClass::symbol: return symbol_symbol;
    default: return other_symbol;
  }
}

/// The symbols that a regex sees in place of characters. In a regex with \p{…}, each character outside ASCII is
/// replaced by its class (letter, mark, number, punctuation, symbol, space, other), so that \p{Lu} matches any letter
/// and ranges apply only to ASCII. In other regexes each symbol is the character itself. In both alphabets \s matches
/// the spaces of ASCII; the vertical tab represents all other spaces.
enum class RegexAlphabet : u8 { classes, characters };

/// A text in both alphabets.
struct RegexText {
  explicit RegexText(std::span<const char32_t> points);
  std::vector<char32_t> classes, characters;
  const std::vector<char32_t>& in(RegexAlphabet alphabet) const {
    return alphabet == RegexAlphabet::classes ? classes : characters;
  }
};

/// A compiled regex. Supports alternatives, groups, ? * + {n} {n,m}, classes with ranges and `&&[^\p{Han}]`, \p{L} (Lu,
/// Ll, Lt, Lm, Lo alike) \p{M} \p{N} \p{P} \p{S} \p{Han}, \s \S \d \r \n \t, (?i:…) for ASCII, (?=x) and (?!x) of one
/// character, and $. The leftmost match wins; among those, earlier alternatives and greedier repetitions win.
class EncodeRegex {
 public:
  /// Error (internal): the regex has an unsupported construct, matches the empty text, or repeats something that does.
  static Result<EncodeRegex> compile(std::string_view regex);

  RegexAlphabet alphabet() const { return alphabet_; }
  /// Splits each piece before and after every match. `pieces` are lengths in characters that add up to the text's
  /// length. Time and memory: text length times regex length.
  std::vector<u32> cut(const RegexText& text, std::span<const u32> pieces) const;

  struct Set {
    std::vector<std::pair<char32_t, char32_t>> ranges;  ///< sorted
    std::vector<bool> low = std::vector<bool>(256);     ///< the same as a table for symbols below 256
    bool negated = false;
    bool contains(char32_t symbol) const;
  };
  enum class Op : u8 { one, look, look_not, end, split, match };
  struct Step {
    Op op = Op::match;
    u32 set = 0;        ///< one, look, look_not
    u32 next = 0;       ///< the next step; for a split, the one tried first
    u32 otherwise = 0;  ///< for a split: the step tried second
    i32 loop = -1;      ///< number of the loop if a split is a repetition, else -1
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
