// Kernels that convert MLX codes to ggml blocks without decoding them.
#pragma once

#include "base/types.h"
#include "transfer/mlx_target.h"

namespace modelutils {

/// Converts whole groups to blocks of `type` (Carry::blocks). `out` must have exactly the bytes they need.
void repack_blocks(const MlxForm& form, TensorType type, Bytes codes, Bytes scales, Bytes biases, MutableBytes out);

}  // namespace modelutils
