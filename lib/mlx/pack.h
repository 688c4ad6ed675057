// For engine loaders: packs a quantised module into one contiguous buffer, or fuses several modules row-wise.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// A quantised matrix as stored: `rows` rows (the product of all leading dimensions) of `columns` logical elements.
/// Bytes at any alignment.
struct StoredMatrix {
  Params params;
  u64 rows = 0;
  u64 columns = 0;
  Bytes weight;  ///< rows × columns × bits / 8
  TensorType scale_type = TensorType::F16;
  Bytes scales;  ///< rows × columns / group_size × element size
  Bytes biases;  ///< same size and type as `scales`; empty in the FP modes
};

/// A matrix without its bytes: all that the layout depends on.
struct MatrixSizes {
  Params params;
  u64 rows = 0;
  u64 columns = 0;
  TensorType scale_type = TensorType::F16;
  u64 weight_bytes = 0;
  u64 scales_bytes = 0;
  u64 biases_bytes = 0;
};
MatrixSizes sizes_of(const StoredMatrix& matrix);

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

struct PackOptions {
  /// Convert BF16 scales and biases to F16, rounded to nearest even; `inexact` counts those that F16 does not hold
  /// exactly.
  bool bf16_to_f16 = false;
};

struct PackedMatrix {
  PackedLayout layout;
  std::vector<std::byte> bytes;
  u64 inexact = 0;  ///< scales and biases changed by bf16_to_f16
};

/// Checks that the matrix's sizes agree with its parameters. Error: "mlx-pack-size".
Status check_matrix(const MatrixSizes& matrix);
inline Status check_matrix(const StoredMatrix& matrix) {
  return check_matrix(sizes_of(matrix));
}

/// Returns the layout of the modules fused row-wise: all weights, then all scales, then all biases, each part in module
/// order. Errors: "mlx-pack-size"; "mlx-pack-mismatch" if the modules differ in parameters, columns or scale type (the
/// message names the first that differs); "mlx-pack-empty" for no modules.
Result<PackedLayout> fused_layout(std::span<const MatrixSizes> modules, const PackOptions& options = {});
Result<PackedLayout> fused_layout(std::span<const StoredMatrix> modules, const PackOptions& options = {});

/// Converts BF16 values to F16 in place, rounded to nearest even. Any alignment; the size must be even. Returns the
/// count of values that F16 does not hold exactly.
u64 bf16_to_f16_in_place(MutableBytes values);

/// Fuses into `out`, whose size must be exactly fused_layout().total_bytes(). Returns the count of inexact scales and
/// biases.
Result<u64> fuse_into(std::span<const StoredMatrix> modules, const PackOptions& options, MutableBytes out);

/// Fuses into a new buffer. A single module gives that module's packed buffer.
Result<PackedMatrix> fuse(std::span<const StoredMatrix> modules, const PackOptions& options = {});
inline Result<PackedMatrix> pack(const StoredMatrix& module, const PackOptions& options = {}) {
  return fuse({&module, 1}, options);
}

}  // namespace modelutils::mlx
