// Exact decoding of every block type to float32 (docs/formats/blocks.md: layouts and order of operations).
#pragma once

#include "base/instructions.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Can dequantize() decode this type? All but C64 (two floats an element). Q8_1, for which ggml has no decoder, decodes
/// to code × d. Integers and F64 become the nearest float32, BOOL the number in its byte. F4 has its first element in
/// the low nibble; F6 is a little-endian bit stream, least significant bit first, four elements in three bytes.
bool has_decoder(TensorType type);

/// Decodes `out.size()` elements (a multiple of the type's block elements) from `blocks`, which must hold exactly
/// out.size() / block_elements × block_bytes bytes, at any address. Bit for bit what ggml's reference decoders give
/// (NaN payloads excepted), with whatever instructions. Precondition: has_decoder(type).
void dequantize(TensorType type, Bytes blocks, std::span<float> out, Instructions instructions = best_instructions());

}  // namespace modelutils
