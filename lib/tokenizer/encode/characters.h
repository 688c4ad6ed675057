// Unicode characters as llama.cpp classifies them for tokenization.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// The major general category in Unicode ("unassigned" is Cn). Source: utf8proc's tables (Unicode 15.0) plus the
/// additions of 15.1, which together are llama.cpp's.
enum class CharacterClass : u8 { letter, mark, number, punctuation, symbol, separator, control, unassigned };

CharacterClass character_class(char32_t point);
/// White_Space: TAB to CR, space, U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000.
bool is_space(char32_t point);
/// Decided by blocks as in llama.cpp, not by the Script property.
bool is_han(char32_t point);
/// Simple one-to-one mapping; other characters are unchanged.
char32_t to_lower(char32_t point);
/// Returns the first character of the canonical decomposition; llama.cpp keeps only this one.
char32_t first_of_decomposed(char32_t point);

/// Decodes UTF-8. Each byte that does not begin a character becomes U+FFFD. Overlong forms and surrogates are accepted,
/// as in llama.cpp.
std::vector<char32_t> code_points(std::string_view text);
/// Appends any number below 0x110000 as UTF-8.
void append_point(std::string& out, char32_t point);
/// Returns the length in bytes implied by the first byte of a character; 1 for bytes that cannot begin one.
std::size_t promised_bytes(char first);

}  // namespace modelutils::tokenizer
