// Encodes float32 as any ggml block type, with the same bytes as ggml's own quantiser (docs/formats/quantize.md).
#pragma once

#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// True if quantize_rows() can encode `type`: F32, F16, BF16, and all ggml block types except Q8_1 and Q8_K, which
/// files do not use.
bool has_encoder(TensorType type);

/// True if ggml refuses to encode `type` without importance weights (IQ1_S, IQ2_XXS, IQ2_XS).
bool needs_importance(TensorType type);

struct QuantizeOptions {
  /// One finite, non-negative weight per element of a row, or empty. Types that only round ignore them.
  std::span<const float> importance = {};
  /// IQ3_S: follow the format where ggml misplaces the codes after a group of zeros.
  bool correct = false;
  Instructions instructions = best_instructions();
};

/// Encodes whole rows of `ne0` elements (a multiple of the type's block) into `out`, which must have exactly their
/// size. Each row depends only on its own values and the weights. The bytes equal those of ggml's base library on
/// x86-64, on any machine. Non-finite values give meaningless blocks: the caller must refuse them (narrow_facts()), and
/// also blocks whose scale overflows F16 (check_blocks()). Preconditions: has_encoder(type); weights if
/// needs_importance(type).
void quantize_rows(TensorType type, std::span<const float> values, u64 ne0, MutableBytes out,
                   const QuantizeOptions& options = {});

/// True if ggml would misplace a block of `row` in IQ3_S: one with a group of 32 zeros before a group with other
/// values.
bool misplaced_in_iq3_s(std::span<const float> row);

}  // namespace modelutils
