// Texts and floats as Python sees them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::jinja {

/// str.isspace() of one character.
bool is_space(char32_t c);
bool is_digit(char32_t c);
/// The value of a decimal digit of any script: nothing for other characters.
std::optional<int> decimal_value(char32_t c);
/// A number that is no decimal digit, such as ² and ½. Python takes some of these for digits.
bool is_other_number(char32_t c);
bool is_letter(char32_t c);
/// A character of \w in Python's regular expressions.
bool is_word(char32_t c);
/// A character that may be in a name of Python.
bool is_name_part(char32_t c);
bool is_name_start(char32_t c);

/// Without blanks at the beginning and at the end.
enum class Side : u8 { both, left, right };
std::string_view strip(std::string_view text, Side side = Side::both);

/// Bytes of the first `count` characters.
std::size_t bytes_of(std::string_view text, std::size_t count);
/// Characters of a text.
std::size_t characters_of(std::string_view text);

/// str.upper(), lower(), capitalize(), title(). Nothing for a text with one of the rare letters whose other case is
/// several letters, where we do not know them.
std::optional<std::string> upper(std::string_view text);
std::optional<std::string> lower(std::string_view text);
std::optional<std::string> capitalize(std::string_view text);
std::optional<std::string> title(std::string_view text);
/// str.isupper(), str.islower().
bool is_upper(std::string_view text);
bool is_lower(std::string_view text);

/// repr() of a text: the quotes chosen by what is in it, what cannot be seen escaped.
void append_repr(std::string& out, std::string_view text);
/// str() of a float: 1.0, 1e+16, inf.
std::string float_repr(double value);
/// html.escape() as markupsafe has it, and how many bytes it makes of one at most.
constexpr u64 most_escaped = 5;
std::string escape_markup(std::string_view text);

}  // namespace modelutils::jinja
