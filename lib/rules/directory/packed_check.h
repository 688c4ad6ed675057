// verify --data: weights that MLX packed, whose scales and biases are finite, but not what is made of them.
#pragma once

#include "mlx/modules.h"
#include "mlx/quantization.h"
#include "model/tensor_catalog.h"
#include "tensor/block_check.h"

namespace modelutils {

/// A packed weight whose types and shapes fit together. Members are places in Catalog::tensors.
struct PackedWeight {
  mlx::Params params;
  std::size_t weight = 0;
  std::size_t scales = 0;
  std::size_t biases = mlx::no_tensor;  ///< none in the FP modes
};

/// Judges the groups that `piece`, some of the scales (or of the biases) from group `first` on, belongs to: does a
/// value of theirs overflow float32? Blocks are counted from the piece's beginning. Codes are read only where a scale
/// or a bias is so large that it could; among the biases, a group whose scale is that large is left to the scales.
/// Errors: those of reading.
Result<BlockCheck> check_packed(const Catalog& catalog, const PackedWeight& weight, bool is_bias, u64 first,
                                Bytes piece);

}  // namespace modelutils
