// Which type carries a tensor into a BUMPWGT5 file such that C-Kernel-Engine computes with its exact values. Source:
// docs/formats/bump5.md, "Types".
#pragma once

#include <optional>

#include "tensor/types.h"

namespace modelutils {

/// What a matrix is used for decides which kernels there are.
enum class Bump5Use : u8 {
  matrix,         ///< of a layer, or the output head
  embedding,      ///< looked up by rows; of a tied model also the head
  gemma_gate_up,  ///< gemma3's gate and up, whose input is quantised to Q8_0
};

/// The type to write: the tensor's own, or one that holds the same values exactly. Nothing if there is no kernel for
/// the type and none of the substitutes that we make.
std::optional<TensorType> bump5_type(TensorType type, Bump5Use use);

}  // namespace modelutils
