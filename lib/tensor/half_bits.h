// Branch-free float32 -> F16 and BF16, for scalars and vectors: all cases are computed and selected by masks. For inner
// loops; other code calls half.h.
#pragma once

#include "base/types.h"

namespace modelutils {

/// The integer type with the lanes of a float or of a vector (GNU's vector_size) of floats.
template <typename Floats>
struct BitsOf {
  using Type [[gnu::vector_size(sizeof(Floats))]] = i32;
};
template <>
struct BitsOf<float> {
  using Type = i32;
};

/// Reinterprets the bits as another type. std::bit_cast is not usable here: without optimisation it is a real function,
/// compiled for the baseline machine. Code compiled for wider instructions (base/instructions.h) would expect its
/// vector result in other registers.
template <typename To, typename From>
[[gnu::always_inline]] constexpr To bits_as(const From& from) {
  return __builtin_bit_cast(To, from);
}

/// F16 bits of each lane, rounded to nearest even, as f32_to_f16().
template <typename Floats, typename Bits = typename BitsOf<Floats>::Type>
[[gnu::always_inline]] inline Bits f16_bits(Floats values) {
  const Bits bits = bits_as<Bits>(values);
  const Bits magnitude = bits & 0x7FFFFFFF;
  const Bits zero = magnitude & 0;
  const Bits rebiased = magnitude - (112 << 23);
  const Bits normal = (rebiased + 0xFFF + (rebiased >> 13 & 1)) >> 13;
  // Adding 0.5 rounds to its last bit, 2^-24, the unit of F16 subnormals; the low bits of the sum are then the count.
  const Bits subnormal = bits_as<Bits>(bits_as<Floats>(magnitude) + 0.5f) - 0x3F000000;
  const Bits nan = 0x7E00 | (magnitude >> 13 & 0x1FF);
  Bits result = magnitude < zero + 0x38800000 ? subnormal : normal;  // below 2^-14
  result = magnitude > zero + 0x477FEFFF ? zero + 0x7C00 : result;   // 65520 rounds to 65536
  result = magnitude > zero + 0x7F800000 ? nan : result;
  return result | (bits >> 16 & 0x8000);
}

/// BF16 bits of each lane, rounded to nearest even, as f32_to_bf16().
template <typename Floats, typename Bits = typename BitsOf<Floats>::Type>
[[gnu::always_inline]] inline Bits bf16_bits(Floats values) {
  const Bits bits = bits_as<Bits>(values);
  const Bits magnitude = bits & 0x7FFFFFFF;
  const Bits zero = magnitude & 0;
  const Bits high = bits >> 16 & 0xFFFF;
  const Bits rounded = high + (((bits & 0xFFFF) + 0x7FFF + (high & 1)) >> 16);
  return magnitude > zero + 0x7F800000 ? high | 0x40 : rounded;
}

/// Converts F16 bits (0 … 0xFFFF, not NaN) to floats.
template <typename Floats, typename Bits = typename BitsOf<Floats>::Type>
[[gnu::always_inline]] inline Floats f16_value(Bits bits) {
  const Bits magnitude = bits & 0x7FFF;
  const Bits zero = magnitude & 0;
  // A subnormal counts units of 2^-24, the last bit of 0.5: insert it there as the mantissa, then subtract 0.5.
  const Bits subnormal = bits_as<Bits>(bits_as<Floats>(magnitude | 0x3F000000) - 0.5f);
  const Bits normal = (magnitude << 13) + (112 << 23);
  Bits result = magnitude < zero + 0x400 ? subnormal : normal;
  result = magnitude > zero + 0x7BFF ? zero + 0x7F800000 : result;
  return bits_as<Floats>(result | (bits & 0x8000) << 16);
}

}  // namespace modelutils
