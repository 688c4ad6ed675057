#include "base/parse_number.h"

#include <algorithm>
#include <optional>

namespace modelutils {

namespace {

constexpr std::string_view decimal_digits = "0123456789";

std::string_view take_digits(std::string_view& text) {
  const std::string_view taken = text.substr(0, std::min(text.find_first_not_of(decimal_digits), text.size()));
  text.remove_prefix(taken.size());
  return taken;
}

// Returns the factor that a unit stands for: "G", "gb" and "GiB". Returns nullopt for other texts.
std::optional<u64> factor_of(std::string_view unit, u64 step) {
  if (unit.empty()) return 1;
  const auto is = [&](std::size_t at, char lower) { return at < unit.size() && (unit[at] | 0x20) == lower; };
  int power = 0;
  for (const char letter : std::string_view("kmgt")) {
    ++power;
    if (!is(0, letter)) continue;
    const bool is_binary = is(1, 'i') && unit.size() == 3;
    const std::size_t end = is_binary ? 2 : 1;
    if (unit.size() > end + 1 || (unit.size() == end + 1 && !is(end, 'b'))) return std::nullopt;
    u64 factor = 1;
    for (int i = 0; i < power; ++i) factor *= is_binary ? 1024 : step;
    return factor;
  }
  return std::nullopt;
}

}  // namespace

std::errc parse_bytes(std::string_view text, u64 step, u64& bytes) {
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  const bool has_point = text.starts_with('.');
  if (has_point) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  const std::optional<u64> factor = factor_of(text, step);
  if (whole.empty() || !factor || (has_point && (fraction.empty() || text.empty()))) return std::errc::invalid_argument;

  // Rounding down after each digit, from the last one to the first, gives the same as rounding down once at the end.
  u64 part = 0;
  for (std::size_t i = fraction.size(); i-- > 0;) part = (static_cast<u64>(fraction[i] - '0') * *factor + part) / 10;

  u64 number = 0;
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), number);
  const std::optional<u64> product = error == std::errc() ? checked_mul(number, *factor) : std::nullopt;
  const std::optional<u64> sum = product ? checked_add(*product, part) : std::nullopt;
  if (!sum) return std::errc::result_out_of_range;
  bytes = *sum;
  return std::errc();
}

}  // namespace modelutils
