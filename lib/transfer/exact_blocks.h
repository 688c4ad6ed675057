// Converts blocks between types without changing any value. Source: docs/formats/bump5.md, "Types".
#pragma once

#include "base/byte_source.h"
#include "tensor/types.h"

namespace modelutils {

/// Sizes of a source block and of its equivalent in the target type; both hold the same number of elements.
struct BlockConversion {
  u32 from_bytes = 0;
  u32 to_bytes = 0;
};

/// Supports every decodable type to F32; Q4_0 and Q5_0 to Q8_0 (same scale, codes without bias); Q4_1 to Q5_1 (same
/// scale and minimum, fifth bits 0). Precondition: one of these.
BlockConversion conversion_of(TensorType from, TensorType to);

/// Converts out.size() / to_bytes whole blocks. Preconditions: a supported conversion, and a `source` of matching size.
void convert_blocks(TensorType from, TensorType to, Bytes source, MutableBytes out);

}  // namespace modelutils
