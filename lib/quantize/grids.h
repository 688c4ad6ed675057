// The grids of the codebook types from the encoder's side: for every pattern of levels its grid index, or the grid
// points around it. Source: docs/formats/quantize.md, "Grids".
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::encode {

/// A pattern is a set of 8 levels of 2 bits or 4 levels of 3 bits, the first in the lowest bits.
class Grid {
 public:
  /// Of IQ1_S (and IQ1_M), IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S; made on first use, by one thread.
  static const Grid& of(TensorType type);

  /// The index of a pattern that is on the grid; below zero: it is not.
  int index(u32 pattern) const { return entries_[pattern]; }

  /// Of a pattern that is not on the grid: the patterns of the grid points around it, nearest first, then by index, as
  /// many as fill vectors of 8: the last one is repeated.
  std::span<const u16> neighbours(u32 pattern) const {
    const List& list = lists_[static_cast<std::size_t>(-1 - entries_[pattern])];
    return {neighbours_.data() + list.first, list.count};
  }

 private:
  struct List {
    u32 first;
    u32 count;
  };
  // `points`: the pattern of each index. `distances`: neighbours are taken as far as so many distinct distances.
  Grid(std::span<const u16> points, u32 size, u32 bits, u32 levels, u32 distances);
  void add_neighbours(std::span<const u16> points, u32 pattern, u32 size, u32 bits, u32 distances);

  std::vector<i32> entries_;
  std::vector<List> lists_;
  std::vector<u16> neighbours_;
};

}  // namespace modelutils::encode
