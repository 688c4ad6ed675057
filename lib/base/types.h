// Spans of bytes, and the only code that adds, multiplies or rounds numbers that came from a file.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>

#include "base/os/integers.h"

namespace modelutils {

/// Bytes of a file. Sizes and offsets of files are u64, never size_t and never double.
using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// The only code that adds, multiplies or rounds numbers that came from a file.

/// a + b, or nullopt on overflow.
[[nodiscard]] constexpr std::optional<u64> checked_add(u64 a, u64 b) {
  u64 sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a × b, or nullopt on overflow.
[[nodiscard]] constexpr std::optional<u64> checked_mul(u64 a, u64 b) {
  u64 product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// Returns the product of all factors, left to right. Returns nullopt on overflow even if a later factor is 0.
[[nodiscard]] constexpr std::optional<u64> checked_product(std::span<const u64> factors) {
  u64 product = 1;
  for (u64 factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

/// `value` rounded up to a multiple of `multiple` (> 0, not only powers of two), or nullopt on overflow.
[[nodiscard]] constexpr std::optional<u64> checked_round_up(u64 value, u64 multiple) {
  const u64 rest = value % multiple;
  return rest == 0 ? std::optional<u64>(value) : checked_add(value, multiple - rest);
}

/// True if [offset, offset + size) lies within [0, limit). Cannot overflow.
[[nodiscard]] constexpr bool fits(u64 offset, u64 size, u64 limit) {
  return offset <= limit && size <= limit - offset;
}

/// `value` as a T, or nullopt if T cannot represent it.
template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_cast(u64 value) {
  const T narrow = static_cast<T>(value);
  if (static_cast<u64>(narrow) != value) return std::nullopt;
  if constexpr (std::is_signed_v<T>) {
    if (narrow < 0) return std::nullopt;
  }
  return narrow;
}

/// True if exactly one bit is set; false for 0.
[[nodiscard]] constexpr bool is_power_of_two(u64 value) {
  return std::has_single_bit(value);
}

}  // namespace modelutils
