// The kernels that turn MLX codes into ggml blocks without decoding them.
#pragma once

#include "base/types.h"
#include "transfer/mlx_target.h"

namespace modelutils {

/// Repacks whole groups into blocks of target.type by Carry::blocks. Sizes as for repack_rows().
void repack_blocks(const MlxForm& form, TensorType type, Bytes codes, Bytes scales, Bytes biases, MutableBytes out);

}  // namespace modelutils
