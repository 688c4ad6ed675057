// Operations on the values of small tensors, as an architecture's rows prescribe for the conversion to GGUF, and their
// inverse.
#pragma once

#include "arch/names.h"

namespace modelutils {

/// Converts a value of a small tensor for GGUF.
float apply_operation(arch::Operation operation, float operand, float value);

/// Returns the value that apply_operation() maps to `value`; preferably one that fits into 16 bits if rounding makes it
/// ambiguous.
float undo_operation(arch::Operation operation, float operand, float value);

}  // namespace modelutils
