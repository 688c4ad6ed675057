// Byte and element counts computed from sizes stated in a file. Overflow of 64 bits is checked once, at the end.
#pragma once

#include <algorithm>

#include "base/checked_math.h"

namespace modelutils::memory {

/// A number that remembers whether it, or any number it was computed from, overflowed.
class Amount {
 public:
  constexpr Amount() = default;
  constexpr Amount(u64 value) : value_(value) {}  // NOLINT: formulas mix amounts and plain numbers

  /// Returns nullopt after an overflow.
  constexpr std::optional<u64> value() const { return fits_ ? std::optional<u64>(value_) : std::nullopt; }

  friend constexpr Amount operator+(Amount a, Amount b) { return of(checked_add(a.value_, b.value_), a, b); }
  friend constexpr Amount operator*(Amount a, Amount b) { return of(checked_mul(a.value_, b.value_), a, b); }
  constexpr Amount& operator+=(Amount other) { return *this = *this + other; }
  /// Rounds down; `divisor` must not be 0.
  friend constexpr Amount operator/(Amount a, u64 divisor) { return of(a.value_ / divisor, a, a); }
  friend constexpr Amount max(Amount a, Amount b) { return of(std::max(a.value_, b.value_), a, b); }
  friend constexpr Amount min(Amount a, Amount b) { return of(std::min(a.value_, b.value_), a, b); }
  constexpr Amount padded_to(u64 multiple) const { return of(checked_round_up(value_, multiple), *this, *this); }

 private:
  static constexpr Amount of(std::optional<u64> value, Amount a, Amount b) {
    Amount result(value.value_or(0));
    result.fits_ = value.has_value() && a.fits_ && b.fits_;
    return result;
  }

  u64 value_ = 0;
  bool fits_ = true;
};

/// Rounded up to a multiple of `multiple`, which must not be 0.
constexpr Amount padded(Amount amount, u64 multiple) {
  return amount.padded_to(multiple);
}

}  // namespace modelutils::memory
