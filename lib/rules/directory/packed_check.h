// verify --data: finds MLX-packed weights whose scales and biases are finite but whose values overflow.
#pragma once

#include "mlx/modules.h"
#include "mlx/quantization.h"
#include "model/catalog.h"
#include "tensor/block_check.h"

namespace modelutils {

/// A packed weight with matching types and shapes. The members are indices into Catalog::tensors.
struct PackedWeight {
  mlx::Params params;
  std::size_t weight = 0;
  std::size_t scales = 0;
  std::size_t biases = mlx::no_tensor;  ///< no_tensor in the FP modes
};

/// Checks whether values of the groups that `piece` covers overflow float32. `piece` holds scales (or biases) from
/// group `first` on; blocks in the result are counted from its start. Reads codes only if a scale or bias is large
/// enough to matter. When checking biases, skips groups whose scale is that large, because the check of the scales
/// covers them. Errors: those of reading.
Result<BlockCheck> check_packed(const Catalog& catalog, const PackedWeight& weight, bool is_bias, u64 first,
                                Bytes piece);

}  // namespace modelutils
