#include "transfer/recipe.h"

#include <algorithm>

#include "tensor/shape.h"

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

}  // namespace modelutils
