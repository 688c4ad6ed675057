// Short texts: counts with their nouns, numbers for people, lists in one line, and names separated by
// '|'. fmt::join would do, but adds about a second of compile time to every file that uses it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

// Numbers with their nouns, and the text for truncated files, for messages.

/// Returns the number with thousands separators: "1,234,567".
std::string thousands(u64 number);
void append_thousands(std::string& out, u64 number);

/// Returns "1 error", "2 errors" or "0 errors". For irregular plurals: counted(3, "entry", "entries").
std::string counted(u64 number, std::string_view noun);
std::string counted(u64 number, std::string_view noun, std::string_view plural);

/// Returns the verb form for a number: verb(1, "needs", "need") is "needs".
inline std::string_view verb(u64 number, std::string_view one, std::string_view many) {
  return number == 1 ? one : many;
}

/// Returns "incomplete: 50,000 of 241,504 bytes (21 %); download it again" for a file with `have` bytes whose header
/// requires `needed`. With `at_least`, "… of at least …": the header does not determine the full size.
std::string incomplete_text(u64 have, u64 needed, bool at_least = false);

// Numbers formatted for people: sizes, counts, rates, floats.

/// "512 B", "4.7 kB", "1.24 GB": decimal units, three significant digits.
std::string byte_text(u64 bytes);
void append_byte_text(std::string& out, u64 bytes);

/// Appends plain decimal digits.
void append_number(std::string& out, u64 number);

/// "751", "12.3 K", "7.24 B": parameter and other counts, three significant digits.
std::string count_text(u64 number);
void append_count_text(std::string& out, u64 number);

/// "4.50": two decimals, the usual form of bits per weight.
std::string bits_text(double bits);

/// "8s", "2m05s", "1h12m".
std::string duration_text(double seconds);

/// Returns the shortest decimal that parses to the same value ("1e-05", "0.1", "nan", "-inf").
std::string float_text(float value);
std::string float_text(double value);

// Joins lists into one line. fmt::join does the same, but adds about a second of compile time to every file that uses
// it.

/// Returns the parts with `separator` between them, e.g. "a, b, c"; empty for no parts.
std::string joined(std::span<const std::string> parts, std::string_view separator = ", ");
std::string joined(std::span<const std::string_view> parts, std::string_view separator = ", ");
/// Returns the first ten of the parts, and " and 3 more" if there are others. For messages.
std::string joined_first(std::span<const std::string> parts);
/// Returns the numbers as plain decimals.
std::string joined(std::span<const u64> numbers, std::string_view separator = ", ");

// Lists of names in one text: "a|b|c".

/// Calls `visit` with each name in a text like "a|b|c".
template <typename Visit>
void for_each_name(std::string_view names, Visit visit) {
  while (!names.empty()) {
    const std::size_t bar = names.find('|');
    visit(names.substr(0, bar));
    names.remove_prefix(bar == std::string_view::npos ? names.size() : bar + 1);
  }
}

}  // namespace modelutils
