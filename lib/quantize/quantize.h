// float32 to every ggml block type, with the bytes of ggml's own quantiser (docs/formats/quantize.md).
#pragma once

#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Is `type` one that quantize_rows() encodes? All of ggml's block types but Q8_1 and Q8_K, which no file needs, and
/// F32, F16, BF16.
bool has_encoder(TensorType type);

/// Does ggml refuse to encode `type` without importance weights (IQ1_S, IQ2_XXS, IQ2_XS)?
bool needs_importance(TensorType type);

struct QuantizeOptions {
  /// One weight, not negative and finite, for each element of a row; empty: none. Types that round plainly ignore them.
  std::span<const float> importance = {};
  /// IQ3_S: write what the format means, where ggml misplaces what follows a group of zeros.
  bool correct = false;
  Instructions instructions = best_instructions();
};

/// Encodes whole rows of `ne0` elements (a multiple of the type's block), one after another, into exactly as many bytes
/// as they take. A row depends on nothing but its own values and the weights. The bytes are those that ggml's base
/// library writes on x86-64, whatever the machine. Values that are not finite give blocks without a meaning: the caller
/// refuses them (narrow_facts()), and blocks whose scale an F16 does not hold (check_blocks()). Precondition:
/// has_encoder(type), and weights if needs_importance(type).
void quantize_rows(TensorType type, std::span<const float> values, u64 ne0, MutableBytes out,
                   const QuantizeOptions& options = {});

/// Does `row` have a block that ggml misplaces in IQ3_S: a group of 32 zeros before one that has other values?
bool misplaced_in_iq3_s(std::span<const float> row);

}  // namespace modelutils
