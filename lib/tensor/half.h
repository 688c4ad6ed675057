// Conversions of the small float formats. All exact towards float32; towards f16/bf16 round to nearest, ties to even.
#pragma once

#include "base/types.h"

namespace modelutils {

float f16_to_f32(u16 bits);
u16 f32_to_f16(float value);
float bf16_to_f32(u16 bits);
u16 f32_to_bf16(float value);

/// OCP FP8 E4M3 (no Inf; 0x7F and 0xFF are NaN), E5M2 (IEEE-like), and the FNUZ forms (bias + 1, 0x80 is NaN, no -0).
float f8_e4m3_to_f32(u8 bits);
float f8_e5m2_to_f32(u8 bits);
float f8_e4m3fnuz_to_f32(u8 bits);
float f8_e5m2fnuz_to_f32(u8 bits);
/// E8M0: 2^(bits - 127); 0xFF is NaN.
float f8_e8m0_to_f32(u8 bits);
/// E8M0 as ggml's MXFP4 uses it: 2^(bits - 128) for all 256 codes, 0xFF included.
float e8m0_half(u8 bits);
/// UE4M3 as ggml's NVFP4 uses it: half the value; 0x00 and 0x7F are 0, bit 7 ignored otherwise (0xFF is 240).
float ue4m3_half(u8 bits);

}  // namespace modelutils
