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

/// Of two runs of equal length. The instructions make no difference to the result.
ValueSums sums_of(std::span<const float> a, std::span<const float> b, Instructions instructions = best_instructions());

/// The first place where they are not equal.
std::optional<std::size_t> first_difference(std::span<const float> a, std::span<const float> b);

}  // namespace modelutils
