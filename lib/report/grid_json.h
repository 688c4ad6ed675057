// The grid of a network as JSON: the members "stacks" and "others" of "card/1" and "page/1" (docs/json.md).
#pragma once

#include <span>

#include "json/writer.h"
#include "report/layer_grid.h"

namespace modelutils {

/// Writes both members. Identical layers share a row. The output is linear in the number of tensors, because rows list
/// only their existing cells.
void write_grid_members(json::Writer& json, std::span<const GridTensor> tensors);

}  // namespace modelutils
