// Is there anything in a tensor?
#pragma once

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Are all values of these whole blocks 0 (or -0)? Stops at the first that is not. False for types without a decoder.
bool holds_only_zeros(TensorType type, Bytes blocks);

}  // namespace modelutils
