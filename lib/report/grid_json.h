// The grid of a network as JSON: the members "stacks" and "others" of "card/1" and "page/1" (docs/json.md).
#pragma once

#include <span>

#include "json/writer.h"
#include "report/layer_grid.h"

namespace modelutils {

/// Writes both members. Layers that look alike share a row. Linear in the tensors: rows list only the cells that they
/// have.
void write_grid_members(json::Writer& json, std::span<const GridTensor> tensors);

}  // namespace modelutils
