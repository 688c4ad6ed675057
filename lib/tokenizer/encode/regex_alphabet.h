// The symbols that represent character classes in the alphabet of regexes with \p{…} (regex.h).
#pragma once

#include "tokenizer/encode/characters.h"

namespace modelutils::tokenizer {

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

}  // namespace modelutils::tokenizer
