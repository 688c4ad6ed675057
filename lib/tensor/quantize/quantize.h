// Encodes float32 as any ggml block type, with the same bytes as ggml's own quantiser (docs/formats/quantize.md).
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "base/instructions.h"
#include "base/types.h"
#include "tensor/half.h"
#include "tensor/types.h"

namespace modelutils::encode {

// Writes the fields of blocks as bytes (docs/formats/blocks.md).

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

// The encoder of each ggml type. Internal: other folders call quantize_rows().

/// The rows to encode.
struct Rows {
  const float* values;
  const float* importance;  ///< one weight per element of a row, or nullptr
  u8* out;                  ///< whole blocks, at any alignment
  u64 rows;
  u64 ne0;               ///< elements per row, a multiple of the block's
  bool correct = false;  ///< follow the format where ggml's encoder deviates from it
  Instructions instructions = best_instructions();
};
using Encoder = void(const Rows& rows);

/// Calls body(values, importance, block) for each block of `elements` elements and `bytes` bytes. `importance` points
/// to the weights of the block's elements, or is nullptr.
template <typename Body>
[[gnu::always_inline]] inline void for_each_block(const Rows& rows, u32 elements, u32 bytes, const Body& body) {
  const float* values = rows.values;
  u8* out = rows.out;
  for (u64 row = 0; row < rows.rows; ++row) {
    for (u64 first = 0; first < rows.ne0; first += elements, values += elements, out += bytes) {
      body(values, rows.importance == nullptr ? nullptr : rows.importance + first, out);
    }
  }
}

Encoder f16, bf16;                                                   // quantize.cc
Encoder q4_0, q4_1, q5_0, q5_1, q8_0;                                // simple.cc
Encoder weighted_q4_0, weighted_q4_1, weighted_q5_0, weighted_q5_1;  // simple_weighted.cc
Encoder q1_0, q2_0, tq1_0, tq2_0;                                    // ternary.cc
Encoder mxfp4, nvfp4;                                                // fp4.cc
Encoder q2_k, q3_k, q4_k, q5_k, q6_k;                                // k_blocks.cc
Encoder iq4_nl, iq4_xs;                                              // iq4.cc
Encoder iq2_xxs, iq2_xs, iq2_s;                                      // iq2.cc
Encoder iq3_xxs, iq3_s;                                              // iq3.cc
Encoder iq1_s, iq1_m;                                                // iq1.cc

}  // namespace modelutils::encode

namespace modelutils {

/// True if quantize_rows() can encode `type`: F32, F16, BF16, and all ggml block types except Q8_1 and Q8_K, which
/// files do not use.
bool has_encoder(TensorType type);

/// True if ggml refuses to encode `type` without importance weights (IQ1_S, IQ2_XXS, IQ2_XS).
bool needs_importance(TensorType type);

struct QuantizeOptions {
  /// One finite, non-negative weight per element of a row, or empty. Types that only round ignore them.
  std::span<const float> importance = {};
  /// IQ3_S: follow the format where ggml misplaces the codes after a group of zeros.
  bool correct = false;
  Instructions instructions = best_instructions();
};

/// Encodes whole rows of `ne0` elements (a multiple of the type's block) into `out`, which must have exactly their
/// size. Each row depends only on its own values and the weights. The bytes equal those of ggml's base library on
/// x86-64, on any machine. Non-finite values give meaningless blocks: the caller must refuse them (narrow_facts()), and
/// also blocks whose scale overflows F16 (check_blocks()). Preconditions: has_encoder(type); weights if
/// needs_importance(type).
void quantize_rows(TensorType type, std::span<const float> values, u64 ne0, MutableBytes out,
                   const QuantizeOptions& options = {});

/// True if ggml would misplace a block of `row` in IQ3_S: one with a group of 32 zeros before a group with other
/// values.
bool misplaced_in_iq3_s(std::span<const float> row);

}  // namespace modelutils
