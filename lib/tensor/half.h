// Conversions of the small float formats. Conversions to float32 are exact; those to F16 and BF16 round to nearest,
// ties to even, and have a branch-free form for inner loops. Source: docs/formats/blocks.md, section 1; for FP8: OCP
// and the FNUZ papers.
#pragma once

#include <bit>

#include "base/types.h"

namespace modelutils {

// Branch-free float32 -> F16 and BF16, for scalars and vectors: all cases are computed and selected by masks. For inner
// loops; other code calls f32_to_f16() and f32_to_bf16().

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
  // The mantissa of a subnormal counts units of 2^-24, the last bit of 0.5. So place it in the mantissa of 0.5, then
  // subtract 0.5.
  const Bits subnormal = bits_as<Bits>(bits_as<Floats>(magnitude | 0x3F000000) - 0.5f);
  const Bits normal = (magnitude << 13) + (112 << 23);
  Bits result = magnitude < zero + 0x400 ? subnormal : normal;
  result = magnitude > zero + 0x7BFF ? zero + 0x7F800000 : result;
  return bits_as<Floats>(result | (bits & 0x8000) << 16);
}

/// Exact, except that signalling NaNs become quiet ones with the same payload.
constexpr float f16_to_f32(u16 bits) {
  const u32 sign = static_cast<u32>(bits & 0x8000) << 16;
  const u32 magnitude = bits & 0x7FFF;
  if (magnitude < 0x0400) {  // zero and subnormals: the mantissa counts units of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<u32>(value) | sign);
  }
  if (magnitude < 0x7C00) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  return std::bit_cast<float>(sign | 0x7F800000u | (magnitude == 0x7C00 ? 0u : 0x00400000u) |
                              (magnitude & 0x3FF) << 13);
}

/// Magnitudes of 65520 and above become Inf; below 2^-14 they become subnormal, and 2^-25 or less becomes zero. A NaN
/// becomes a quiet NaN.
u16 f32_to_f16(float value);

/// Exact, for every code.
constexpr float bf16_to_f32(u16 bits) {
  return std::bit_cast<float>(static_cast<u32>(bits) << 16);
}

/// Overflow becomes Inf. A NaN becomes a quiet NaN.
constexpr u16 f32_to_bf16(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<u16>((bits >> 16) | 0x40);
  return static_cast<u16>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

/// OCP FP8 E4M3 (no Inf; 0x7F and 0xFF are NaN), E5M2 (IEEE-like), and the FNUZ forms (bias + 1, 0x80 is NaN, no -0).
float f8_e4m3_to_f32(u8 bits);
float f8_e5m2_to_f32(u8 bits);
float f8_e4m3fnuz_to_f32(u8 bits);
float f8_e5m2fnuz_to_f32(u8 bits);

/// E8M0: 2^(bits - 127); 0xFF is NaN.
constexpr float f8_e8m0_to_f32(u8 bits) {
  if (bits == 0xFF) return std::bit_cast<float>(0x7FC00000u);
  return std::bit_cast<float>(bits == 0 ? 0x00400000u : static_cast<u32>(bits) << 23);
}

/// E8M0 as in ggml's MXFP4: 2^(bits - 128) for all 256 codes, including 0xFF.
constexpr float e8m0_half(u8 bits) {
  return std::bit_cast<float>(bits < 2 ? 0x00200000u << bits : static_cast<u32>(bits - 1) << 23);
}

/// UE4M3 as in ggml's NVFP4: half the value. 0x00 and 0x7F are 0; bit 7 is otherwise ignored (0xFF is 240).
float ue4m3_half(u8 bits);

/// FP6 and FP4 codes (the low 6 or 4 bits of `code`; OCP microscaling formats: no Inf, no NaN).
float f6_e2m3_to_f32(u8 code);
float f6_e3m2_to_f32(u8 code);
float f4_to_f32(u8 code);

}  // namespace modelutils
