// Adding a product of two thin matrices to rows of values: what merging spends its time with.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "base/wide_instructions.h"

namespace modelutils::adapter {

/// The right factor of a product, in the order in which add_product() reads it: some columns of every rank, then the
/// next ones. Ranks whose columns all follow one another may lie at addresses that the first-level cache cannot hold
/// together.
class Panels {
 public:
  static constexpr std::size_t width = 128;

  /// Of `a` [rank, columns].
  Panels(std::span<const float> a, u64 rank, u64 columns);

  std::size_t rank() const { return rank_; }
  std::size_t columns() const { return columns_; }
  /// The columns [first, min(first + width, columns)) of every rank. `first` is a multiple of the width.
  const float* panel(std::size_t first) const { return values_.data() + first * rank_; }

 private:
  std::size_t rank_;
  std::size_t columns_;
  std::vector<float> values_;
};

/// values [rows, columns] += b [rows, rank] · a, each sum in the order of the ranks, every product added with one
/// rounding. Four ranks of a row that are zeros are left out. The instructions make no difference to the result.
void add_product(const Panels& a, std::span<const float> b, std::span<float> values,
                 WideInstructions instructions = widest_instructions());

}  // namespace modelutils::adapter
