// Writes the fields of blocks as bytes (docs/formats/blocks.md).
#pragma once

#include <cstring>

#include "base/types.h"
#include "tensor/half_bits.h"

namespace modelutils::encode {

/// Stores the low 16 bits of `value`, little-endian.
[[gnu::always_inline]] inline void put_u16(u8* out, u32 value) {
  out[0] = static_cast<u8>(value);
  out[1] = static_cast<u8>(value >> 8);
}
[[gnu::always_inline]] inline void put_u32(u8* out, u32 value) {
  put_u16(out, value);
  put_u16(out + 2, value >> 16);
}

/// Stores `value` as F16, rounded to nearest even, and returns the stored value.
[[gnu::always_inline]] inline float put_half(u8* out, float value) {
  const i32 bits = f16_bits<float>(value);
  put_u16(out, static_cast<u32>(bits));
  return f16_value<float>(bits);
}

/// Stores 32 four-bit codes: element i in the low nibble of byte i, element 16 + i in its high nibble.
[[gnu::always_inline]] inline void put_nibbles(u8* out, const u8* codes) {
  for (u32 i = 0; i < 16; ++i) out[i] = static_cast<u8>((codes[i] & 15) | codes[i + 16] << 4);
}

/// Returns the fifth bits of 32 codes as one word. For each eight codes, one multiplication gathers the bits; no two of
/// its terms overlap.
[[gnu::always_inline]] inline u32 fifth_bits(const u8* codes) {
  u32 bits = 0;
  for (u32 run = 0; run < 4; ++run) {
    u64 eight = 0;
    std::memcpy(&eight, codes + 8 * run, sizeof eight);
    bits |= static_cast<u32>((eight >> 4 & 0x0101010101010101u) * 0x0102040810204080u >> 56) << 8 * run;
  }
  return bits;
}

/// Stores 256 two-bit codes: each half of 128 elements as four planes in 32 bytes. `shift` selects the two bits of a
/// code.
[[gnu::always_inline]] inline void put_planes_of_two(u8* out, const u8* codes, u32 shift = 0) {
  for (u32 half = 0; half < 2; ++half) {
    const u8* from = codes + 128 * half;
    for (u32 i = 0; i < 32; ++i) {
      out[32 * half + i] = static_cast<u8>((from[i] >> shift & 3) | (from[i + 32] >> shift & 3) << 2 |
                                           (from[i + 64] >> shift & 3) << 4 | (from[i + 96] >> shift & 3) << 6);
    }
  }
}

/// Stores the low four bits of 256 codes: 64 elements per 32 bytes, the first 32 in the low nibbles.
[[gnu::always_inline]] inline void put_planes_of_four(u8* out, const u8* codes) {
  for (u32 part = 0; part < 4; ++part) {
    const u8* from = codes + 64 * part;
    for (u32 i = 0; i < 32; ++i) out[32 * part + i] = static_cast<u8>((from[i] & 15) | from[i + 32] << 4);
  }
}

}  // namespace modelutils::encode
