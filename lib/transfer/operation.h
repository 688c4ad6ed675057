// What a family's rows do to the values of small tensors on their way into a GGUF, and the way back.
#pragma once

#include "arch/names.h"

namespace modelutils {

/// What becomes of a value of a small tensor on its way into a GGUF.
float apply_operation(arch::Operation operation, float operand, float value);

/// The value that apply_operation() made `value` of. Where rounding lost the last bits, one of 16 bits if there is one.
float undo_operation(arch::Operation operation, float operand, float value);

}  // namespace modelutils
