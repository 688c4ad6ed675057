// Characters as llama.cpp sees them when it cuts a text into tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::tokenizer {

/// The first letter of a general category of Unicode ("unassigned" is Cn). Source: utf8proc's tables (Unicode 15.0) and
/// what 15.1 added, which together are llama.cpp's.
enum class CharacterClass : u8 { letter, mark, number, punctuation, symbol, separator, control, unassigned };

CharacterClass character_class(char32_t point);
/// White_Space: TAB to CR, space, U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000.
bool is_space(char32_t point);
/// By blocks, as llama.cpp has them, not by the property Script.
bool is_han(char32_t point);
/// The one-to-one mapping; other characters stay.
char32_t to_lower(char32_t point);
/// The first character of the canonical decomposition, the only one that llama.cpp keeps.
char32_t first_of_decomposed(char32_t point);

/// Code points. A byte that begins no character is U+FFFD, one by one; overlong forms and surrogates are taken as they
/// stand, as llama.cpp does.
std::vector<char32_t> code_points(std::string_view text);
/// Appends the UTF-8 of any number below 0x110000.
void append_point(std::string& out, char32_t point);
/// How many bytes the first byte of a character promises, 1 for what cannot begin one.
std::size_t promised_bytes(char first);

}  // namespace modelutils::tokenizer
