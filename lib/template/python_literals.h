// Parses numbers and the escapes of strings by Python's rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "template/value.h"

namespace modelutils::jinja {

/// Parses an integer with an optional sign. Base 0 takes the base from the prefix (0x, 0o, 0b; else 10); for bases 2 to
/// 36 the matching prefix is optional. Returns a `big` on `heap` for integers in base 10 beyond 64 bits. Returns
/// nullopt for other text, for larger numbers in other bases, and beyond Python's own limit of 4,300 digits.
std::optional<Value> parse_integer(std::string_view digits, int base, Heap& heap);

/// int() and float() of a text. Accepts surrounding whitespace, single underscores between digits, and the digits of
/// any script.
std::optional<Value> integer_of_text(std::string_view text, int base, Heap& heap);
std::optional<double> real_of_text(std::string_view text);

/// Parses digits with a point or an exponent. Returns infinity beyond the largest double, like Python.
std::optional<double> parse_real(const std::string& digits);

/// Decodes the text between the quotes like Python's "unicode-escape" codec; unknown escapes stay unchanged. Returns
/// nullopt and sets `error` for incomplete escapes, and for those we do not support: \N{…} and surrogates.
std::optional<std::string> unescaped(std::string_view text, std::string& error);

}  // namespace modelutils::jinja
