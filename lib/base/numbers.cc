#include "base/numbers.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

namespace modelutils {

namespace {

// Three significant digits of value × 1000^-n, where n is the unit; "999.9" rounds up into the next unit.
template <std::size_t N>
std::string with_unit(u64 number, const std::array<std::string_view, N>& units) {
  double value = static_cast<double>(number);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < N) {
    value /= 1000;
    ++unit;
  }
  char digits[24];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const auto end =
      unit == 0 ? std::to_chars(std::begin(digits), std::end(digits), number).ptr
                : std::to_chars(std::begin(digits), std::end(digits), value, std::chars_format::fixed, decimals).ptr;
  std::string text(digits, end);
  text += units[unit];
  return text;
}

}  // namespace

std::string byte_text(u64 bytes) {
  return with_unit(bytes, std::array<std::string_view, 7>{" B", " kB", " MB", " GB", " TB", " PB", " EB"});
}

std::string count_text(u64 number) {
  return with_unit(number, std::array<std::string_view, 5>{"", " K", " M", " B", " T"});
}

void append_number(std::string& out, u64 number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, end);
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

}  // namespace modelutils
