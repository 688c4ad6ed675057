// Blocks of one type as blocks of another that have exactly the same values. Source: docs/formats/bump5.md, "Types".
#pragma once

#include "base/byte_source.h"
#include "tensor/types.h"

namespace modelutils {

/// How blocks of `from` become elements of `to`; both sides hold the same number of elements.
struct BlockConversion {
  u32 from_bytes = 0;
  u32 to_bytes = 0;
};

/// To F32 from every type that can be decoded; Q4_0 and Q5_0 to Q8_0 (the same scale, the code without its bias); Q4_1
/// to Q5_1 (the same scale and minimum, fifth bits 0). Precondition: one of these.
BlockConversion conversion_of(TensorType from, TensorType to);

/// Converts whole blocks: to.size() / to_bytes of them. Precondition: as above, and from.size() fits.
void convert_blocks(TensorType from, TensorType to, Bytes source, MutableBytes out);

}  // namespace modelutils
