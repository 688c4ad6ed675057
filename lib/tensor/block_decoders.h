// The decoder of each type, the fields of block types whose bits are spread over several places, and the conversion of
// one-byte codes to floats. Formulas and the order of their float operations: docs/formats/blocks.md. Other folders
// decode with dequantize().
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "base/byte_reader.h"
#include "base/instructions.h"
#include "base/types.h"
#include "tensor/half.h"
#include "tensor/types.h"

namespace modelutils::decode {

/// The blocks to decode: `count` of them, from `in` (any alignment) to `out`.
struct Blocks {
  const u8* in;
  float* out;
  std::size_t count;
  Instructions instructions;
};
using Decoder = void(const Blocks& blocks);

/// Calls body(j) for j = 0 … 15. The loop is not unrolled, because g++ 12 would unroll it before trying to vectorise
/// it, and then fail.
template <typename Body>
inline void for_16(const Body& body) {
#pragma GCC unroll 1
  for (u32 j = 0; j < 16; ++j) body(j);
}

/// Calls body(block, values, width) for each block. `width` is the vector size in bytes, as in run_with().
template <typename Body>
void for_blocks_in_vectors(TensorType type, const Blocks& blocks, const Body& body) {
  run_with(
      blocks.instructions, [&, &info = type_info(type) ](auto width) __attribute__((flatten)) {
        const std::size_t bytes = info.block_bytes;
        const std::size_t elements = info.block_elements;
        const u8* in = blocks.in;
        float* out = blocks.out;
        for (std::size_t left = blocks.count; left > 0; --left, in += bytes, out += elements) body(in, out, width);
      });
}

/// Calls body(block, values) for each block.
template <typename Body>
void for_blocks(TensorType type, const Blocks& blocks, const Body& body) {
  for_blocks_in_vectors(type, blocks, [&](const u8* in, float* out, auto) { body(in, out); });
}

/// Decodes 16 bytes of 4-bit codes to 32 elements, low nibbles first: scale × table[code]. Not vectorisable: each
/// element is a table look-up.
inline void look_up_nibbles(const u8* codes, const std::array<i8, 16>& table, float scale, float* out) {
  for (u32 i = 0; i < 16; ++i) out[i] = scale * static_cast<float>(table[codes[i] & 15]);
  for (u32 i = 0; i < 16; ++i) out[i + 16] = scale * static_cast<float>(table[codes[i] >> 4]);
}

/// Reads an F16 scale at `at`.
inline float half_at(const u8* at) {
  return f16_to_f32(load<u16>(at));
}

// Plain and small floats, integers, and codebook blocks of 256: dequantize.cc. Ternary types, and blocks of 32, 64 and
// 128 elements with one level of scales: dequantize_simple.cc. K blocks: dequantize_k.cc. `none` is for types without
// float values.
#define MU_TYPE_DECODER(name, value, elements, bytes, gguf, safetensors, quantized, decoder) Decoder decoder;
MU_TENSOR_TYPES(MU_TYPE_DECODER)
#undef MU_TYPE_DECODER

}  // namespace modelutils::decode

namespace modelutils {

// Fields of block types whose bits are spread over several places (docs/formats/blocks.md). Used by the decoders here
// and by the MLX packing of the same codes.

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

namespace modelutils::decode {

// Converts one-byte codes to floats, eight at a time if the machine has 32-byte vectors. g++ 12's own vectorisation of
// such a loop takes half as long again, because it widens in two steps.

using EightFloats [[gnu::vector_size(32)]] = float;
using EightInts [[gnu::vector_size(32)]] = i32;

[[gnu::always_inline]] inline float as_floats(int code) {
  return static_cast<float>(code);
}
[[gnu::always_inline]] inline EightFloats as_floats(EightInts codes) {
  return __builtin_convertvector(codes, EightFloats);
}

/// Stores one value or a vector of eight.
template <typename Values>
[[gnu::always_inline]] inline void store(const Values& values, float* to) {
  std::memcpy(to, &values, sizeof values);
}

/// Calls body(i, code) for each of `count` bytes (u8 or i8; `count` is a multiple of 8), with `code` as an int in a
/// loop that can be vectorised. If `width` is 32, calls it once per eight bytes, with `code` as a vector of eight.
template <typename Byte, typename Width, typename Body>
[[gnu::always_inline]] inline void for_codes([[maybe_unused]] Width width, const u8* bytes, u32 count,
                                             const Body& body) {
#if defined(__x86_64__) && !defined(__clang__) && defined(__OPTIMIZE__)
  if constexpr (width() == 32) {
#pragma GCC unroll 4
    for (u32 i = 0; i < count; i += 8) {
      EightInts codes;
      const auto& eight = *reinterpret_cast<const u8(*)[8]>(bytes + i);
      if constexpr (std::is_signed_v<Byte>) {
        __asm__("vpmovsxbd %1, %0" : "=x"(codes) : "m"(eight));
      } else {
        __asm__("vpmovzxbd %1, %0" : "=x"(codes) : "m"(eight));
      }
      body(i, codes);
    }
    return;
  }
#endif
  // Not unrolled, because g++ 12 would unroll before trying to vectorise the loop, and then fail.
#pragma GCC unroll 1
  for (u32 i = 0; i < count; ++i) body(i, int{static_cast<Byte>(bytes[i])});
}

}  // namespace modelutils::decode
