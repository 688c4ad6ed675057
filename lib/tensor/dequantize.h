// Exact decoding of every block type to float32. Layouts and order of operations: docs/formats/blocks.md.
#pragma once

#include "base/instructions.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// True if dequantize() can decode this type: all but C64, which has two floats per element. Q8_1, for which ggml has
/// no decoder, decodes to code × d. Integers and F64 become the nearest float32, BOOL the number in its byte. F4 has
/// its first element in the low nibble. F6 is a little-endian bit stream, least significant bit first, four elements in
/// three bytes.
bool has_decoder(TensorType type);

/// Decodes `out.size()` elements (a multiple of the type's block elements) from `blocks`, which must hold exactly
/// out.size() / block_elements × block_bytes bytes, at any alignment. The result is bit-identical to ggml's reference
/// decoders (except for NaN payloads), whichever instructions are used. Precondition: has_decoder(type).
void dequantize(TensorType type, Bytes blocks, std::span<float> out, Instructions instructions = best_instructions());

}  // namespace modelutils
