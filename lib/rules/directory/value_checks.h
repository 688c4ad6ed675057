// Rules of verify --data for directories: MLX-packed weights whose values overflow, an output head that differs from a
// claimed tied embedding, and scales, zero points and column orders of modules in other forms.
#pragma once

#include "base/log.h"
#include "model/catalog.h"
#include "model/mlx/modules.h"
#include "model/mlx/quantization.h"
#include "model/safetensors_model.h"
#include "tensor/block_check.h"

namespace modelutils {

// verify --data: finds MLX-packed weights whose scales and biases are finite but whose values overflow.

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

// verify --data: compares the output head of a directory that claims tied weights with its embedding.

/// Compares lm_head with the embedding if config.json sets tie_word_embeddings. Adds the note "hf-tied-head" (scope
/// data) if they differ. Ignores read errors, which the tensor checks report.
void check_tied_head(const SafetensorsModel& model, FindingLog& log);

}  // namespace modelutils
