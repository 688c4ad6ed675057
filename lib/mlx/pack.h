// For engine loaders: the layout of a quantised module in one contiguous buffer, or of several fused row-wise.
#pragma once

#include <span>

#include "base/error.h"
#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// A quantised matrix: `rows` rows (the product of all leading dimensions) of `columns` logical elements.
struct MatrixSizes {
  Params params;
  u64 rows = 0;
  u64 columns = 0;
  TensorType scale_type = TensorType::F16;
  u64 weight_bytes = 0;  ///< rows × columns × bits / 8
  u64 scales_bytes = 0;  ///< rows × columns / group_size × element size
  u64 biases_bytes = 0;  ///< same as `scales_bytes`; 0 in the FP modes
};

/// The sizes of the three parts in a packed buffer. They are stored in this order without gaps, each row after row as
/// in the files.
struct PackedLayout {
  u64 weight_bytes = 0;
  u64 scales_bytes = 0;
  u64 biases_bytes = 0;
  TensorType scale_type = TensorType::F16;  ///< type of scales and biases in the buffer

  u64 scales_offset() const { return weight_bytes; }
  u64 biases_offset() const { return weight_bytes + scales_bytes; }
  u64 total_bytes() const { return weight_bytes + scales_bytes + biases_bytes; }
};

/// Checks that the matrix's sizes agree with its parameters. Error: "mlx-pack-size".
Status check_matrix(const MatrixSizes& matrix);

/// Returns the layout of the modules fused row-wise: all weights, then all scales, then all biases, each part in module
/// order. `bf16_to_f16` changes BF16 scales and biases to F16. Errors: "mlx-pack-size"; "mlx-pack-mismatch" if the
/// modules differ in parameters, columns or scale type (the message names the first that differs); "mlx-pack-empty" for
/// no modules.
Result<PackedLayout> fused_layout(std::span<const MatrixSizes> modules, bool bf16_to_f16);

/// Converts BF16 values to F16 in place, rounded to nearest even. Any alignment; the size must be even. Returns the
/// count of values that F16 does not hold exactly.
u64 bf16_to_f16_in_place(MutableBytes values);

}  // namespace modelutils::mlx
