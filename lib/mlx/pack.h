// What an engine's loader needs: a quantised module in one contiguous buffer, and several modules fused row-wise.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// A quantised matrix as stored: `rows` rows (the product of all leading dimensions) of `columns` logical elements.
/// Bytes at any address.
struct StoredMatrix {
  Params params;
  u64 rows = 0;
  u64 columns = 0;
  Bytes weight;  ///< rows × columns × bits / 8
  TensorType scale_type = TensorType::F16;
  Bytes scales;  ///< rows × columns / group_size × size of the type
  Bytes biases;  ///< the same; empty in the FP modes. Type: scale_type
};

/// The same without its bytes: what the layout depends on.
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

/// Where the three parts stand in a packed buffer, in this order, without gaps. Each part has the layout that the files
/// have: row after row.
struct PackedLayout {
  u64 weight_bytes = 0;
  u64 scales_bytes = 0;
  u64 biases_bytes = 0;
  TensorType scale_type = TensorType::F16;  ///< of scales and biases in the buffer

  u64 scales_offset() const { return weight_bytes; }
  u64 biases_offset() const { return weight_bytes + scales_bytes; }
  u64 total_bytes() const { return weight_bytes + scales_bytes + biases_bytes; }
};

struct PackOptions {
  /// BF16 scales and biases become F16, rounded to nearest even; `inexact` counts those that F16 does not hold exactly.
  bool bf16_to_f16 = false;
};

struct PackedMatrix {
  PackedLayout layout;
  std::vector<std::byte> bytes;
  u64 inexact = 0;  ///< scales and biases changed by bf16_to_f16
};

/// Do the sizes of the matrix agree with its parameters? Error "mlx-pack-size".
Status check_matrix(const MatrixSizes& matrix);
inline Status check_matrix(const StoredMatrix& matrix) {
  return check_matrix(sizes_of(matrix));
}

/// The layout of the modules fused row-wise: all weights, then all scales, then all biases, each part in the order of
/// the modules. Errors: "mlx-pack-size"; "mlx-pack-mismatch" if the modules differ in parameters, columns or scale type
/// (the message names the first that does); "mlx-pack-empty" for no modules.
Result<PackedLayout> fused_layout(std::span<const MatrixSizes> modules, const PackOptions& options = {});
Result<PackedLayout> fused_layout(std::span<const StoredMatrix> modules, const PackOptions& options = {});

/// BF16 values become F16 where they stand, rounded to nearest even. Any address; an even number of bytes. Gives the
/// count of those that F16 does not hold exactly.
u64 bf16_to_f16_in_place(MutableBytes values);

/// Fuses into `out`, which must have exactly fused_layout().total_bytes(). Gives the count of inexact scales and
/// biases.
Result<u64> fuse_into(std::span<const StoredMatrix> modules, const PackOptions& options, MutableBytes out);

/// The same into a buffer of its own. One module gives the packed buffer of that module.
Result<PackedMatrix> fuse(std::span<const StoredMatrix> modules, const PackOptions& options = {});
inline Result<PackedMatrix> pack(const StoredMatrix& module, const PackOptions& options = {}) {
  return fuse({&module, 1}, options);
}

}  // namespace modelutils::mlx
