// The grids of the codebook types as the encoder needs them: for each pattern of levels its grid index, or the grid
// points around it. Source: docs/formats/quantize.md, "Grids".
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::encode {

/// A pattern is a set of 8 levels of 2 bits, or 4 levels of 3 bits, the first in the lowest bits.
class Grid {
 public:
  /// Returns the grid of IQ1_S (and IQ1_M), IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS or IQ3_S. Built once, on first use.
  static const Grid& of(TensorType type);

  /// Returns a pattern's index; negative if the pattern is not on the grid.
  int index(u32 pattern) const { return entries_[pattern]; }

  /// For a pattern that is not on the grid: the patterns of the grid points around it, nearest first, then by index.
  /// The last one is repeated so that the count is a multiple of 8.
  std::span<const u16> neighbours(u32 pattern) const {
    const List& list = lists_[static_cast<std::size_t>(-1 - entries_[pattern])];
    return {neighbours_.data() + list.first, list.count};
  }

 private:
  struct List {
    u32 first;
    u32 count;
  };
  // `points` has the pattern of each index. `distances` is the number of distinct distances up to which neighbours are
  // listed.
  Grid(std::span<const u16> points, u32 size, u32 bits, u32 levels, u32 distances);
  void add_neighbours(std::span<const u16> points, u32 pattern, u32 size, u32 bits, u32 distances);

  std::vector<i32> entries_;
  std::vector<List> lists_;
  std::vector<u16> neighbours_;
};

}  // namespace modelutils::encode
