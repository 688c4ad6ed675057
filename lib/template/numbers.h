// Numbers in texts, as Python reads them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "template/value.h"

namespace modelutils::jinja {

/// An integer in `base` (0: the base is in its prefix, 0x, 0o or 0b; else 2 to 36 with that prefix optional), with a
/// sign: an integer, or beyond 64 bits in base 10 a `big` on `heap`. Nothing for what is none, and for numbers that are
/// too large: 4,300 digits are Python's own limit.
std::optional<Value> parse_integer(std::string_view digits, int base, Heap& heap);

/// int() and float() of a text: blanks around it, single underscores between digits, which may be of any script.
std::optional<Value> integer_of_text(std::string_view text, int base, Heap& heap);
std::optional<double> real_of_text(std::string_view text);

/// Digits with a point or an exponent. Beyond the largest double it is infinite, as in Python.
std::optional<double> parse_real(const std::string& digits);

}  // namespace modelutils::jinja
