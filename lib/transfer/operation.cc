#include "transfer/operation.h"

#include <cmath>

#include "mlx/quantize.h"

namespace modelutils {

float apply_operation(arch::Operation operation, float operand, float value) {
  switch (operation) {
    case arch::Operation::none:
    case arch::Operation::times:                // a matter of each part
    case arch::Operation::unit_columns: break;  // of whole columns
    case arch::Operation::add: return value + operand;
    case arch::Operation::add_one: return value + 1.0f;
    case arch::Operation::neg_exp: return -std::exp(value);
  }
  return value;
}

float undo_operation(arch::Operation operation, float operand, float value) {
  float before = value;
  switch (operation) {
    case arch::Operation::none:
    case arch::Operation::times:                       // multipliers stay in the tensors, and config.json says one
    case arch::Operation::unit_columns: return value;  // and that a head is not normalised
    case arch::Operation::add: before = value - operand; break;
    case arch::Operation::add_one: before = value - 1.0f; break;
    case arch::Operation::neg_exp: before = std::log(-value); break;
  }
  // Rounding lost the last bits: a value of 16 bits that gives the same is the likely one.
  for (const TensorType type : {TensorType::BF16, TensorType::F16}) {
    const float narrow = mlx::rounded_to(type, before);
    if (apply_operation(operation, operand, narrow) == value) return narrow;
  }
  return before;
}

}  // namespace modelutils
