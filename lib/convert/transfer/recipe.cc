#include "convert/transfer/recipe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/instructions.h"
#include "model/mlx/quantize.h"
#include "tensor/types.h"

namespace modelutils {

float RecipePart::factor_of(u64 source_unit) const {
  if (factors.empty()) return 1;
  const u64 units_of_factor = std::max<u64>(from.source_rows / factors.size(), 1);
  return factors[static_cast<std::size_t>(std::min<u64>(source_unit / units_of_factor, factors.size() - 1))];
}

u64 TensorRecipe::elements() const {
  return element_count(ne).value_or(0);
}

PartUnits::PartUnits(const RecipePart& part)
    : part_(part), to_(part.to), end_(part.to.base + 1), is_run_(part.from.is_run() && part.to.is_run()) {
  for (const arch::RowView::Axis& axis : part.to.axes) end_ += (axis.count - 1) * axis.stride;
}

std::optional<u64> PartUnits::source_of(u64 unit) const {
  const std::optional<u64> row = to_.row_of(unit);
  return row ? std::optional(part_.from.source_row(*row)) : std::nullopt;
}

namespace {

// e^x in the steps of torch's vector code (SLEEF's expf with an error of at most one unit in the last place), so that
// the bits are the same on every system, and those that llama.cpp's converter writes.
float exponential(float value) {
  constexpr float lowest = -104, highest = 100;
  if (!(value >= lowest)) return std::isnan(value) ? value : 0;
  if (value > highest) return std::numeric_limits<float>::infinity();
  const float power = std::nearbyint(value * 1.442695040888963407f);
  float rest = fused_in_doubles(power, -0.693145751953125f, value);
  rest = fused_in_doubles(power, -1.428606765330187045e-06f, rest);
  float sum = 0.000198527617612853646278381f;
  for (const float next : {0.00139304355252534151077271f, 0.00833336077630519866943359f, 0.0416664853692054748535156f,
                           0.166666671633720397949219f, 0.5f}) {
    sum = fused_in_doubles(sum, rest, next);
  }
  return std::ldexp(1.0f + fused_in_doubles(rest * rest, sum, rest), static_cast<int>(power));
}

// logf() and log1pf() of the C libraries differ in the last bit. The functions of double differ as well, but not after
// rounding to float, except in very rare cases.
float logarithm(float value) {
  return static_cast<float>(std::log(double{value}));
}

// Like torch, which returns x itself above 20.
float softplus(float value) {
  return value > 20 ? value : static_cast<float>(std::log1p(double{exponential(value)}));
}

}  // namespace

float apply_operation(arch::Operation operation, float operand, float value) {
  switch (operation) {
    case arch::Operation::none:
    case arch::Operation::times:             // the reader multiplies each part by its factor
    case arch::Operation::unit_columns:      // the reader divides whole columns
    case arch::Operation::unit_rows: break;  // and whole rows
    case arch::Operation::add: return value + operand;
    case arch::Operation::add_one: return value + 1.0f;
    case arch::Operation::neg_exp: return -exponential(value);
    case arch::Operation::exp: return exponential(value);
    case arch::Operation::softplus: return softplus(value);
  }
  return value;
}

float undo_operation(arch::Operation operation, float operand, float value) {
  float before = value;
  switch (operation) {
    case arch::Operation::none:
    // The tensors stay unchanged. Instead, config.json states a factor of 1, and that the head is not normalised.
    case arch::Operation::times:
    case arch::Operation::unit_columns:
    case arch::Operation::unit_rows: return value;
    case arch::Operation::add: before = value - operand; break;
    case arch::Operation::add_one: before = value - 1.0f; break;
    case arch::Operation::neg_exp: before = logarithm(-value); break;
    case arch::Operation::exp: before = logarithm(value); break;
    case arch::Operation::softplus: before = static_cast<float>(std::log(std::expm1(double{value}))); break;
  }
  // Rounding may have lost the last bits: prefer a 16-bit value that yields the same result.
  for (const TensorType type : {TensorType::BF16, TensorType::F16}) {
    const float narrow = mlx::rounded_to(type, before);
    if (apply_operation(operation, operand, narrow) == value) return narrow;
  }
  // The logarithm may be a few units away from every number that gives the value.
  constexpr int steps = 8;
  float above = before, below = before;
  for (int i = 0; i < steps; ++i) {
    for (const float near : {above, below}) {
      if (apply_operation(operation, operand, near) == value) return near;
    }
    above = std::nextafter(above, std::numeric_limits<float>::infinity());
    below = std::nextafter(below, -std::numeric_limits<float>::infinity());
  }
  return before;
}

SourceStretch next_stretch(std::span<const u64> sources) {
  constexpr std::size_t most_in_vain = 64;  // stop after this many units that do not extend the stretch
  SourceStretch best{sources.front(), sources.front(), 1, true};
  u64 low = best.low;
  u64 high = best.high;
  bool is_in_order = true;
  for (std::size_t i = 1; i < sources.size() && sources[i] != no_unit && i - best.count <= most_in_vain; ++i) {
    low = std::min(low, sources[i]);
    high = std::max(high, sources[i]);
    is_in_order = is_in_order && sources[i] == sources.front() + i;
    if (high - low + 1 <= 2 * (i + 1)) best = {low, high, i + 1, is_in_order};
  }
  return best;
}

}  // namespace modelutils
