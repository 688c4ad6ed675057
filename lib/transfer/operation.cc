#include "transfer/operation.h"

#include <cmath>

#include "mlx/quantize.h"

namespace modelutils {

float apply_operation(arch::Operation operation, float operand, float value) {
  switch (operation) {
    case arch::Operation::none:
    case arch::Operation::times:                // applied per part
    case arch::Operation::unit_columns: break;  // applied to whole columns
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
    // the multipliers stay in the tensors; config.json then has a factor of 1
    case arch::Operation::times:
    case arch::Operation::unit_columns: return value;  // and says that the head is not normalised
    case arch::Operation::add: before = value - operand; break;
    case arch::Operation::add_one: before = value - 1.0f; break;
    case arch::Operation::neg_exp: before = std::log(-value); break;
  }
  // Rounding may have lost the last bits: prefer a 16-bit value that yields the same result.
  for (const TensorType type : {TensorType::BF16, TensorType::F16}) {
    const float narrow = mlx::rounded_to(type, before);
    if (apply_operation(operation, operand, narrow) == value) return narrow;
  }
  return before;
}

}  // namespace modelutils
