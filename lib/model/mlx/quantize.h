// Quantises values to MLX's packed groups: by MLX's own rule, and by the search for blocks that have a scale per 16
// weights (docs/formats/mlx.md, "GGUF's blocks in this form").
#pragma once

#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "model/mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// The group size of search_two_scales().
inline constexpr u64 search_group = 32;

/// A group's scale and bias, rounded to the stored type and widened again.
struct ScaleAndBias {
  float scale = 0;
  float bias = 0;
};

/// Quantises one group in affine mode, by the rule of mx.quantize: the end of the range with the larger magnitude
/// becomes a multiple of the scale. Codes come from the unrounded scale and bias; the result is rounded to `scale_type`
/// (F16, BF16 or F32).
ScaleAndBias quantize_affine(u32 bits, std::span<const float> values, TensorType scale_type, std::span<u8> codes);

/// Quantises one group of an FP mode, by the rule of mx.quantize. Codes are FP4 or E4M3. Returns the scale byte.
u8 quantize_fp(Mode mode, std::span<const float> values, std::span<u8> codes);

/// Quantises groups of 32 with 8 bits, where the two halves of a group had different scales. The candidates for each
/// group are its plain range and lattices through the lowest value of either half, whose step is an integer fraction of
/// the smallest distance between distinct values in that half. The candidate with the least squared error wins. The
/// result does not depend on the instructions. `values` and `codes` have 32 elements for each element of `lattices`.
/// Values must be finite; -0 counts as +0.
void search_two_scales(std::span<const float> values, TensorType scale_type, std::span<ScaleAndBias> lattices,
                       std::span<u8> codes, Instructions instructions = best_instructions());

/// Returns the squared error of 8-bit groups of 32 whose lattice spans the lowest to the highest value, with scales and
/// biases stored as `scale_type`. search_two_scales() is never worse. `values` must be whole groups. Returns Inf or NaN
/// if they are not finite or the type cannot hold the lattice.
double plain_lattice_error(std::span<const float> values, TensorType scale_type);

/// `value` rounded to F16 or BF16 and widened again; unchanged for F32.
float rounded_to(TensorType type, float value);

}  // namespace modelutils::mlx
