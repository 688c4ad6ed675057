// How far two runs of values are apart, in sums that can be added up.
#pragma once

#include <optional>
#include <span>

#include "base/instructions.h"
#include "base/types.h"

namespace modelutils {

/// d is b - a. Over values that are finite on both sides; the others only count.
struct ValueSums {
  double aa = 0;       ///< sum of a²
  double bb = 0;       ///< sum of b²
  double ab = 0;       ///< sum of a × b
  double dd = 0;       ///< sum of d²
  double max_abs = 0;  ///< largest |d|
  u64 different = 0;   ///< values that are not equal: -0 equals +0, NaN equals NaN
  u64 unordered = 0;   ///< of these, NaN or infinite on one side (or infinite with another sign)

  void add(const ValueSums& other);
  /// Root of dd / aa: the error of b relative to a. Infinite if only b has values other than 0.
  double rms() const;
  /// Cosine of the angle between a and b; 1 if both are 0 everywhere, 0 if one is.
  double cosine() const;
};

/// Of two runs of equal length. `known`: a difference known from elsewhere; max_abs is at least that. The instructions
/// make no difference to the result. max_abs and the counts are exact. The other sums are within 2^-20 of what they are
/// in real numbers, and the cosine within 2^-18: squares are added up in floats, up to 16 of them before the sum
/// becomes a double. Runs that this does not hold for (some value is not finite; squares too small or too large for a
/// float; one side more than four times as long as the other) are added up value by value in doubles.
ValueSums sums_of(std::span<const float> a, std::span<const float> b, double known = 0,
                  Instructions instructions = best_instructions());

/// Of these sums aa, dd, max_abs and unordered, in less time. The others may have any value.
ValueSums error_sums_of(std::span<const float> a, std::span<const float> b, double known = 0,
                        Instructions instructions = best_instructions());

/// Adds aa, dd and max_abs of what `carried` differs from `exact` by: infinite where NaN or infinity is on one side
/// alone. NaN in both places is no difference. The other sums may get any value.
void measure(std::span<const float> exact, std::span<const float> carried, ValueSums& error);

/// The first place where they are not equal.
std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b);

}  // namespace modelutils
