// The decoder of each type (type_list.h). Formulas and the order of their float operations:
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

// Plain and small floats, integers: dequantize_plain.cc. Blocks of 32, 64 and 128 elements with one level of scales,
// ternary: dequantize_simple.cc. K blocks: dequantize_k.cc. Codebook blocks of 256: dequantize_iq.cc. `none` is for
// types without values.
#define MU_TYPE_DECODER(name, value, elements, bytes, gguf, safetensors, quantized, decoder) Decoder decoder;
MU_TENSOR_TYPES(MU_TYPE_DECODER)
#undef MU_TYPE_DECODER

}  // namespace modelutils::decode
