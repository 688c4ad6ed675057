#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <span>
#include <string_view>

namespace modelutils {

void append_thousands(std::string& out, u64 number) {
  char text[32];
  char* begin = std::end(text);
  const auto put = [&](u64 digit) { *--begin = static_cast<char>('0' + digit); };
  for (; number >= 1000; number /= 1000) {
    const u64 group = number % 1000;
    put(group % 10);
    put(group / 10 % 10);
    put(group / 100);
    *--begin = ',';
  }
  do {
    put(number % 10);
    number /= 10;
  } while (number > 0);
  out.append(begin, static_cast<std::size_t>(std::end(text) - begin));
}

std::string thousands(u64 number) {
  std::string out;
  append_thousands(out, number);
  return out;
}

std::string counted(u64 number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string counted(u64 number, std::string_view noun, std::string_view plural) {
  return fmt::format("{} {}", number, number == 1 ? noun : plural);
}

std::string incomplete_text(u64 have, u64 needed, bool at_least) {
  const double share = 100 * (static_cast<double>(have) / static_cast<double>(needed));
  const int percent = std::min(static_cast<int>(share + 0.5), 99);  // never 100 %, since bytes are missing
  return fmt::format("incomplete: {} of {}{} bytes ({} %); download it again", thousands(have),
                     at_least ? "at least " : "", thousands(needed),
                     percent < 1 ? "less than 1" : std::to_string(percent));
}

namespace {

// Appends the number with three significant digits, divided by the largest power of 1000 that leaves at least 1. A
// value that would round to 1000 moves to the next unit.
void append_with_unit(std::string& out, u64 number, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  if (number < 1000) {
    append_number(out, number);
  } else {
    double value = static_cast<double>(number);
    while (value >= 999.5 && unit + 1 < units.size()) {
      value /= 1000;
      ++unit;
    }
    char digits[24];
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::fixed, decimals).ptr;
    out.append(digits, static_cast<std::size_t>(end - digits));
  }
  out += units[unit];
}

}  // namespace

void append_byte_text(std::string& out, u64 bytes) {
  static constexpr std::array<std::string_view, 7> units = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};
  append_with_unit(out, bytes, units);
}

std::string byte_text(u64 bytes) {
  std::string out;
  append_byte_text(out, bytes);
  return out;
}

void append_count_text(std::string& out, u64 number) {
  static constexpr std::array<std::string_view, 5> units = {"", " K", " M", " B", " T"};
  append_with_unit(out, number, units);
}

std::string count_text(u64 number) {
  std::string out;
  append_count_text(out, number);
  return out;
}

void append_number(std::string& out, u64 number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

std::string bits_text(double bits) {
  return fmt::format("{:.2f}", bits);
}

std::string duration_text(double seconds) {
  const u64 whole = seconds > 0 && seconds < 1e9 ? static_cast<u64>(seconds + 0.5) : 0;
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string float_text(float value) {
  return fmt::format("{}", value);
}
std::string float_text(double value) {
  return fmt::format("{}", value);
}

namespace {

template <typename Part, typename Append>
std::string joined_by(std::span<const Part> parts, std::string_view separator, Append append) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    append(text, parts[i]);
  }
  return text;
}

void append_text(std::string& text, std::string_view part) {
  text += part;
}

}  // namespace

std::string joined(std::span<const std::string> parts, std::string_view separator) {
  return joined_by(parts, separator, append_text);
}

std::string joined(std::span<const std::string_view> parts, std::string_view separator) {
  return joined_by(parts, separator, append_text);
}

std::string joined_first(std::span<const std::string> parts) {
  constexpr std::size_t most = 10;
  if (parts.size() <= most) return joined(parts);
  return fmt::format("{} and {} more", joined(parts.first(most)), parts.size() - most);
}

std::string joined(std::span<const u64> numbers, std::string_view separator) {
  return joined_by(numbers, separator, append_number);
}

}  // namespace modelutils
