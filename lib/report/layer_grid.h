// Shows a network as a grid: layer × role (names such as "blk.12.attn_q.weight" have a stack, a layer and a role),
// with a text about the tensor in each cell. Equal layers share a row.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "io/standard_output.h"
#include "model/listing/listing.h"
#include "report/table.h"

namespace modelutils {

// Splits names such as "blk.12.attn_q.weight" into stack, layer and role.

/// A tensor name split at its first numeric component. Views into the name.
struct LayerName {
  std::string_view prefix;  ///< "blk", "v.blk", "model.layers"
  u32 layer = 0;
  std::string_view role;  ///< "attn_q.weight"; never empty
};

/// Returns nullopt for names without a number between dots.
std::optional<LayerName> parse_layer_name(std::string_view name);

/// Numbers layers in order of first appearance.
class LayerIndex {
 public:
  /// Returns the number of this layer, which is new if it was not added before.
  std::size_t find_or_add(std::string_view prefix, u32 layer);
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::pair<std::string, u32>, std::size_t, std::less<>> numbers_;
};

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
