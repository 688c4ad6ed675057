// Fused multiply-add, with or without hardware support.
#pragma once

#include <bit>
#include <cstddef>

#include "base/types.h"

namespace modelutils::adapter {

/// a × b + c with a single rounding, for processors without FMA. The product is exact in double. The sum is rounded to
/// odd (IEEE 754 has no such mode; Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums"); because a
/// double has enough extra bits, the final rounding to float equals that of the exact sum.
inline float fused_in_doubles(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  const double addend = c;
  const double sum = product + addend;
  const double of_product = sum - addend;
  const double rest = (product - of_product) + (addend - (sum - of_product));
  u64 bits = std::bit_cast<u64>(sum);
  if ((rest > 0 || rest < 0) && bits % 2 == 0) bits += (rest > 0) == (sum > 0) ? u64{1} : ~u64{0};
  return static_cast<float>(std::bit_cast<double>(bits));
}

/// Returns a × b + c with a single rounding, for loops called through run_with() (base/instructions.h).
template <std::size_t WIDTH>
[[gnu::always_inline]] inline float fused(float a, float b, float c) {
#if defined(__x86_64__)
  if constexpr (WIDTH < 32) return fused_in_doubles(a, b, c);
#endif
  return __builtin_fmaf(a, b, c);
}

}  // namespace modelutils::adapter
