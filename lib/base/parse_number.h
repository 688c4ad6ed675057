// Parses numbers: std::from_chars() including floating-point numbers, which Apple's library lacks; sizes with units.
#pragma once

#include <charconv>
#include <string_view>
#include <type_traits>

#include "base/types.h"

#if !defined(__cpp_lib_to_chars)
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#endif

namespace modelutils {

/// Like std::from_chars(): reads as many characters as form a number, without leading blanks and '+', whatever the
/// locale.
template <typename T>
std::from_chars_result number_from_chars(const char* first, const char* last, T& value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, value);
#else
  if constexpr (std::is_integral_v<T>) {
    return std::from_chars(first, last, value);
  } else {
    // strtod() also accepts forms that we do not: blanks, '+', and hexadecimal numbers. The tools leave the locale at
    // "C".
    const std::string_view all(first, static_cast<std::size_t>(last - first));
    const std::size_t sign = all.starts_with('-') ? 1 : 0;
    std::string_view text = all.substr(0, std::min(all.find_first_of("xXpP"), all.size()));
    const bool begins = text.size() > sign && text[sign] != '+' && text[sign] != '-' && text[sign] > ' ';
    const std::string copy(begins ? text : std::string_view());
    char* end = nullptr;
    const T number = std::is_same_v<T, float> ? static_cast<T>(std::strtof(copy.c_str(), &end))
                                              : static_cast<T>(std::strtod(copy.c_str(), &end));
    if (end == copy.c_str()) return {first, std::errc::invalid_argument};
    const char* stop = first + (end - copy.c_str());
    // A number is out of range if digits other than 0 became infinite or 0.
    const std::string_view digits = all.substr(sign, std::min(all.find_first_of("eE"), all.size()) - sign);
    const bool is_word = digits.find_first_of("0123456789") == digits.npos;
    const bool is_zero = digits.find_first_of("123456789") == digits.npos;
    if ((std::isinf(number) && !is_word) || (number == 0 && !is_zero)) return {stop, std::errc::result_out_of_range};
    value = number;
    return {stop, std::errc()};
  }
#endif
}

/// Parses a size as people write it: a decimal number and a unit in any case: none, K, M, G, T or KB … TB (powers of
/// `step`), KiB … TiB (powers of 1024). The number may have a fraction before a unit ("1.5G"); the result is rounded
/// down to whole bytes. Errors: invalid_argument, result_out_of_range (2^64 or more). Without an error sets `bytes`.
std::errc parse_bytes(std::string_view text, u64 step, u64& bytes);

}  // namespace modelutils
