// Shows a network as a grid: layer × role, with a text about the tensor in each cell. Equal layers share a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_output.h"
#include "listing/listing.h"
#include "report/style.h"

namespace modelutils {

/// One tensor; its name determines its cell.
struct GridTensor {
  std::string_view name;  ///< raw text of the file
  std::string text;       ///< the text of its cell, printable
  Paint paint = Paint::plain;
};

struct GridOptions {
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
};

/// Returns the tensors of a listing with their types. Packed weights have their packing as type; their scales and
/// biases are omitted.
std::vector<GridTensor> grid_tensors(const Listing& listing);

/// Writes one grid per stack of layers, and a list of the tensors outside all layers. The size of the output is bounded
/// by the number of distinct layers.
void write_layer_grid(TextOutput& out, std::span<const GridTensor> tensors, const GridOptions& options);

}  // namespace modelutils
