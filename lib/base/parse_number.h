// std::from_chars() for floating-point numbers as well, which Apple's library does not have.
#pragma once

#include <charconv>
#include <type_traits>

#if !defined(__cpp_lib_to_chars)
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
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
    // strtod() reads more than we want: blanks, '+', and hexadecimal numbers. The tools leave the locale at "C".
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

}  // namespace modelutils
