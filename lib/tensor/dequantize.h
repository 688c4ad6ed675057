// Exact decoding of every block type to float32 (docs/formats/blocks.md: layouts and order of operations).
#pragma once

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Can dequantize() decode this type? Every type of the table but Q8_1's sums, C64 (two floats an element) decode;
/// integers and BOOL are converted to the nearest float32.
bool has_decoder(TensorType type);

/// Decodes `out.size()` elements (a multiple of the type's block elements) from `blocks`, which must hold exactly
/// out.size() / block_elements × block_bytes bytes, at any address. Bit for bit what ggml's reference decoders give
/// (NaN payloads excepted). Precondition: has_decoder(type).
void dequantize(TensorType type, Bytes blocks, std::span<float> out);

}  // namespace modelutils
