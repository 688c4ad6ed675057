// Text and float functions with Python's semantics.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "base/utf8.h"

namespace modelutils::jinja {

/// str.isspace() for one character.
bool is_space(char32_t c);
bool is_digit(char32_t c);
/// Returns the value of a decimal digit of any script; nullopt for other characters.
std::optional<int> decimal_value(char32_t c);
/// True for numbers that are not decimal digits, such as ² and ½. Python's isdigit() accepts some of them.
bool is_other_number(char32_t c);
bool is_letter(char32_t c);
/// True for characters that match \w in Python's regular expressions.
bool is_word(char32_t c);
/// True for characters allowed in Python identifiers.
bool is_name_part(char32_t c);
bool is_name_start(char32_t c);

/// Removes whitespace at the given sides.
enum class Side : u8 { both, left, right };
std::string_view strip(std::string_view text, Side side = Side::both);

/// Returns the length in bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count);
/// Returns the length in characters.
std::size_t characters_of(std::string_view text);

/// str.upper(), lower(), capitalize() and title(). Return nullopt if the text contains one of the rare letters whose
/// other case is several letters and not in our table.
std::optional<std::string> upper(std::string_view text);
std::optional<std::string> lower(std::string_view text);
std::optional<std::string> capitalize(std::string_view text);
std::optional<std::string> title(std::string_view text);
/// str.isupper(), str.islower().
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);

/// Appends repr() of a text: chooses the quotes by the content and escapes unprintable characters.
void append_repr(std::string& out, std::string_view text);
/// str() of a float: 1.0, 1e+16, inf.
std::string float_repr(double value);
/// html.escape() as in markupsafe; each byte grows to at most `most_escaped` bytes.
constexpr u64 most_escaped = 5;
std::string escape_markup(std::string_view text);

/// Calls visit(character, offset, bytes) for each character until it returns false. Returns true if it never did.
template <typename Visit>
bool each_character(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text.substr(i));
    if (!visit(point.value, i, point.size)) return false;
    i += point.size;
  }
  return true;
}

/// Returns the first character of a non-empty text, with a fast path for ASCII.
inline CodePoint first_of(std::string_view text) {
  const u8 byte = static_cast<u8>(text.front());
  return byte < 0x80 ? CodePoint{byte, 1, true} : decode_utf8(text);
}

/// Removes leading and trailing characters (depending on `side`) for which drop(bytes, character) is true.
template <typename Drop>
std::string_view strip_if(std::string_view text, Side side, const Drop& drop) {
  if (side != Side::right) {
    while (!text.empty()) {
      const CodePoint point = first_of(text);
      if (!drop(text.substr(0, point.size), point.value)) break;
      text.remove_prefix(point.size);
    }
  }
  if (side != Side::left) {
    while (!text.empty()) {
      std::size_t begin = text.size() - 1;
      while (begin > 0 && (static_cast<u8>(text[begin]) & 0xc0) == 0x80) --begin;
      if (!drop(text.substr(begin), first_of(text.substr(begin)).value)) break;
      text = text.substr(0, begin);
    }
  }
  return text;
}

}  // namespace modelutils::jinja
