// A network as a grid: layer × role, something about the tensor in each cell; equal layers share a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_output.h"
#include "listing/listing.h"
#include "report/style.h"

namespace modelutils {

/// One tensor: where it belongs is taken from its name.
struct GridTensor {
  std::string_view name;  ///< raw text of the file
  std::string text;       ///< of its cell, printable
  Paint paint = Paint::plain;
};

struct GridOptions {
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
};

/// The tensors of a listing, each with its type; a packed weight with its form, and without its parts.
std::vector<GridTensor> grid_tensors(const Listing& listing);

/// Writes one grid for each stack of layers, and the tensors outside of them as a list. What is printed is bounded by
/// the layers that look different.
void write_layer_grid(TextOutput& out, std::span<const GridTensor> tensors, const GridOptions& options);

}  // namespace modelutils
