// Values to the float types that hold them with fewer bits, and back, many at a time.
#pragma once

#include <span>

#include "base/types.h"
#include "base/wide_instructions.h"
#include "tensor/types.h"

namespace modelutils {

/// Writes `values` as F32, F16 or BF16 (`type` is one of these) to `out`, at any address: rounded to nearest even, as
/// f32_to_f16() and f32_to_bf16() do. Here and below, the instructions make no difference to the result.
void narrow(TensorType type, std::span<const float> values, std::byte* out,
            WideInstructions instructions = widest_instructions());

/// Rounds `values` to what F16 or BF16 holds, as floats; F32 leaves them as they are.
void round_to(TensorType type, std::span<float> values, Instructions instructions = best_instructions());

/// F16 numbers of which one begins every `stride` bytes, as float32: what f16_to_f32() gives.
void widen_f16(const std::byte* first, std::size_t stride, std::span<float> out,
               Instructions instructions = best_instructions());

/// What a run of values takes to be held.
struct NarrowFacts {
  bool finite = true;          ///< every value is
  bool fits_f16 = true;        ///< every value but NaN is exact in F16
  bool fits_bf16 = true;       ///< the same of BF16
  bool f16_overflows = false;  ///< some finite ones become infinite in F16
};
NarrowFacts narrow_facts(std::span<const float> values, Instructions instructions = best_instructions());

}  // namespace modelutils
