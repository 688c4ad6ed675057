// Values -> MLX's packed groups: as MLX quantises them itself, and the search that carries blocks with a scale for each
// 16 weights (docs/formats/mlx.md, "GGUF's blocks in this form").
#pragma once

#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// What search_two_scales() searches at a time.
inline constexpr u64 search_group = 32;

/// A group's scale and bias as they will be stored, widened again.
struct ScaleAndBias {
  float scale = 0;
  float bias = 0;
};

/// One group in affine mode, by the rule of mx.quantize: the edge of the larger magnitude is a multiple of the scale.
/// Codes come from the unrounded scale and bias; what is returned is rounded to `scale_type` (F16, BF16 or F32).
ScaleAndBias quantize_affine(u32 bits, std::span<const float> values, TensorType scale_type, std::span<u8> codes);

/// One group of an FP mode, by the rule of mx.quantize. Gives the scale's byte; codes are FP4 or E4M3.
u8 quantize_fp(Mode mode, std::span<const float> values, std::span<u8> codes);

/// 8 bits, groups of 32 that are two halves with scales of their own: of lattices through the lowest value of either
/// half, whose step is a whole part of its smallest distance of distinct values, and of the plain range, each group
/// gets the one with the least squared error, whatever the instructions. `values` and `codes`: 32 for each of
/// `lattices`. Finite values; -0 counts as +0.
void search_two_scales(std::span<const float> values, TensorType scale_type, std::span<ScaleAndBias> lattices,
                       std::span<u8> codes, Instructions instructions = best_instructions());

/// The squared error of 8 bits in groups of 32 whose lattice goes from the lowest value to the highest, scales and
/// biases stored as `scale_type`: what search_two_scales() finds is not worse. `values`: whole groups. Infinite or NaN
/// where they are not finite, or the type does not hold the lattice.
double plain_lattice_error(std::span<const float> values, TensorType scale_type);

/// `value` rounded to F16 or BF16 and widened again; F32: as it is.
float rounded_to(TensorType type, float value);

}  // namespace modelutils::mlx
