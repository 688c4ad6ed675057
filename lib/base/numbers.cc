#include "base/numbers.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <iterator>
#include <span>
#include <string_view>

namespace modelutils {

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

}  // namespace modelutils
