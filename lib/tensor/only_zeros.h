// Detects tensors that contain only zeros.
#pragma once

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// True if all values of these whole blocks are 0 or -0. Stops at the first other value. False for types without a
/// decoder.
bool holds_only_zeros(TensorType type, Bytes blocks);

}  // namespace modelutils
