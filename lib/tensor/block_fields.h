// Fields of block types whose bits are spread over several places (docs/formats/blocks.md). Used by the decoders here
// and by the MLX packing of the same codes.
#pragma once

#include "base/byte_reader.h"
#include "base/types.h"
#include "tensor/half.h"

namespace modelutils {

/// The k-th scale and minimum, of eight pairs of 6-bit numbers in the 12 scale bytes of Q4_K and Q5_K.
struct ScaleAndMin {
  int scale;
  int min;
};
inline ScaleAndMin scale_and_min(const u8* packed, u32 k) {
  if (k < 4) return {packed[k] & 63, packed[k + 4] & 63};
  return {(packed[k + 4] & 15) | packed[k - 4] >> 6 << 4, packed[k + 4] >> 4 | packed[k] >> 6 << 4};
}

/// Returns the k-th of the sixteen 6-bit scales in the 12 scale bytes of Q3_K, -32 … 31.
inline int q3_k_scale(const u8* packed, u32 k) {
  const int low = packed[k % 8] >> (4 * (k / 8)) & 15;
  const int high = packed[8 + k % 4] >> (2 * (k / 4)) & 3;
  return (low | high << 4) - 32;
}

/// Returns the scale of group g (0 … 7) of an IQ4_XS block, -32 … 31. `block` is the whole block.
inline int iq4_xs_scale(const u8* block, u32 g) {
  const int low = block[4 + g / 2] >> (4 * (g % 2)) & 15;
  const int high = load<u16>(block + 2) >> (2 * g) & 3;
  return (low | high << 4) - 32;
}

/// The four 16-bit words at the end of an IQ1_M block. Each holds 12 bits of scales, then 4 bits of d.
struct Iq1mScales {
  u64 words;

  float d() const {
    return f16_to_f32(
        static_cast<u16>((words >> 12 & 0xF) | (words >> 24 & 0xF0) | (words >> 36 & 0xF00) | (words >> 48 & 0xF000)));
  }
  /// Scale of the given part of 16 elements (0 … 15): an odd number, 1 … 15.
  int of_part(u32 part) const { return 2 * static_cast<int>(words >> (16 * (part / 4) + 3 * (part % 4)) & 7) + 1; }
};
inline Iq1mScales iq1_m_scales(const u8* block) {
  return {load<u64>(block + 48)};
}

}  // namespace modelutils
