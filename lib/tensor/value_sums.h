// The deviation between two arrays of values, as sums that can be accumulated.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/instructions.h"
#include "base/types.h"

namespace modelutils {

/// d is b − a. The sums cover values that are finite on both sides; others are only counted.
struct ValueSums {
  double aa = 0;       ///< sum of a²
  double bb = 0;       ///< sum of b²
  double ab = 0;       ///< sum of a × b
  double dd = 0;       ///< sum of d²
  double max_abs = 0;  ///< largest |d|
  u64 different = 0;   ///< values that are not equal; −0 equals +0, NaN equals NaN
  u64 unordered = 0;   ///< those of them with NaN or infinity on one side, or infinities of different sign

  void add(const ValueSums& other);
  /// sqrt(dd / aa): the error of b relative to a. Infinite if only b has nonzero values.
  double rms() const;
  /// Returns the cosine of the angle between a and b; 1 if both are all zeros, 0 if only one is.
  double cosine() const;
};

/// Formats an error, given as a fraction, in the form used everywhere: as a percentage with two significant digits,
/// "0.53 %", "12 %", "120 %"; or "0", or "infinite".
std::string error_percent(double fraction);

/// Compares two arrays of equal length. max_abs is at least `known`, a difference known from elsewhere. The result does
/// not depend on `instructions`. max_abs and the counts are exact; the other sums have a relative error of at most
/// 2^-20, the cosine an error of at most 2^-18: squares are added as floats, up to 16 of them, before they are added to
/// a double. Arrays for which this does not hold (some value is not finite, squares are too small or too large for a
/// float, or one side is more than four times as long as the other) are summed value by value in doubles.
ValueSums sums_of(std::span<const float> a, std::span<const float> b, double known = 0,
                  WideInstructions instructions = widest_instructions());

/// Accumulates the error of `carried` against `exact` in aa, dd and max_abs: infinite if only one side is NaN or
/// infinite. NaN on both sides is no difference. The other sums are unspecified. Faster than sums_of(). dd and aa do
/// not depend on `instructions`.
void measure(std::span<const float> exact, std::span<const float> carried, ValueSums& error,
             WideInstructions instructions = widest_instructions());

/// Returns the first index where the arrays differ, or nullopt.
std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b);

}  // namespace modelutils
