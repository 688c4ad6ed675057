// Conversions of the small float formats. Conversions to float32 are exact; those to F16 and BF16 round to nearest,
// ties to even. Source: docs/formats/blocks.md, section 1; for FP8: OCP and the FNUZ papers.
#pragma once

#include <bit>

#include "base/types.h"

namespace modelutils {

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
