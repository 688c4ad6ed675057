// Converts many values at once between float32 and the 16-bit float types.
#pragma once

#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Writes `values` as F32, F16 or BF16 (`type` is one of these) to `out`, at any alignment. Rounds to nearest even,
/// like f32_to_f16() and f32_to_bf16(). For all functions here, the result does not depend on the instructions.
void narrow(TensorType type, std::span<const float> values, std::byte* out,
            WideInstructions instructions = widest_instructions());

/// Rounds `values` to the nearest F16 or BF16 numbers, kept as floats; F32 leaves them unchanged.
void round_to(TensorType type, std::span<float> values, Instructions instructions = best_instructions());

/// Converts F16 numbers, one at the start of every `stride` bytes, to float32, as f16_to_f32().
void widen_f16(const std::byte* first, std::size_t stride, std::span<float> out,
               Instructions instructions = best_instructions());

/// The precision that a run of values needs.
struct NarrowFacts {
  bool finite = true;          ///< every value is finite
  bool fits_f16 = true;        ///< every value except NaN is exact in F16
  bool fits_bf16 = true;       ///< every value except NaN is exact in BF16
  bool f16_overflows = false;  ///< some finite value becomes infinite in F16
};
/// Examines all values.
NarrowFacts narrow_facts(std::span<const float> values, Instructions instructions = best_instructions());

}  // namespace modelutils
