// The decoder of each type; dequantize.cc has the table. Formulas and the order of their float operations:
// docs/formats/blocks.md. Not for other rooms: they call dequantize().
#pragma once

#include "base/byte_reader.h"
#include "base/types.h"
#include "tensor/half.h"
#include "tensor/types.h"

namespace modelutils::decode {

/// Decodes `blocks` blocks from `in` (any address) to `out`.
using Decoder = void(const u8* in, float* out, std::size_t blocks);

/// Calls body(block, values) for each block.
template <typename Body>
void for_blocks(TensorType type, const u8* in, float* out, std::size_t blocks, const Body& body) {
  const std::size_t bytes = type_info(type).block_bytes;
  const std::size_t elements = type_info(type).block_elements;
  for (; blocks > 0; --blocks, in += bytes, out += elements) body(in, out);
}

/// The scale of a block: the F16 at `at`.
inline float half_at(const u8* at) {
  return f16_to_f32(load<u16>(at));
}

// Plain and small floats, integers: dequantize_plain.cc
Decoder f32, f16, bf16, f64, i8_, i16_, i32_, i64_, u8_, u16_, u32_, u64_;
Decoder e4m3, e5m2, e4m3fnuz, e5m2fnuz, e8m0, f4, f6_e2m3, f6_e3m2;
// Blocks of 32, 64 and 128 elements with one level of scales, ternary: dequantize_simple.cc
Decoder q4_0, q4_1, q5_0, q5_1, q8_0, q8_1, iq4_nl, mxfp4, nvfp4, q1_0, q2_0, tq1_0, tq2_0;
// K blocks: dequantize_k.cc
Decoder q2_k, q3_k, q4_k, q5_k, q6_k, q8_k;
// Codebook blocks of 256: dequantize_iq.cc
Decoder iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq1_s, iq1_m, iq4_xs;

}  // namespace modelutils::decode
