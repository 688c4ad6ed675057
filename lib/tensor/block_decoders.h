// The decoder of each type (type_list.h). Formulas and the order of their float operations: docs/formats/blocks.md.
// Internal: other folders call dequantize().
#pragma once

#include <array>

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

// Plain and small floats, integers: dequantize_plain.cc. Ternary types, and blocks of 32, 64 and 128 elements with one
// level of scales: dequantize_simple.cc. K blocks: dequantize_k.cc. Codebook blocks of 256: dequantize_iq.cc. `none` is
// for types without float values.
#define MU_TYPE_DECODER(name, value, elements, bytes, gguf, safetensors, quantized, decoder) Decoder decoder;
MU_TENSOR_TYPES(MU_TYPE_DECODER)
#undef MU_TYPE_DECODER

}  // namespace modelutils::decode
