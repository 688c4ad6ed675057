// Adds the product of two low-rank factors to rows of values, which dominates the time of merging.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/instructions.h"
#include "base/types.h"

namespace modelutils::adapter {

/// Returns a × b + c with a single rounding, for loops called through run_with() (base/instructions.h).
template <std::size_t WIDTH>
[[gnu::always_inline]] inline float fused(float a, float b, float c) {
#if defined(__x86_64__)
  if constexpr (WIDTH < 32) return fused_in_doubles(a, b, c);
#endif
  return __builtin_fmaf(a, b, c);
}

/// The right factor of a product in the order in which add_product() reads it: `width` columns of every rank, then the
/// next `width` columns. Full rows may have addresses that conflict in the first-level cache.
class Panels {
 public:
  static constexpr std::size_t width = 128;

  /// Reorders `a` [rank, columns].
  Panels(std::span<const float> a, u64 rank, u64 columns);

  std::size_t rank() const { return rank_; }
  std::size_t columns() const { return columns_; }
  /// Returns the columns [first, min(first + width, columns)) of every rank. `first` must be a multiple of the width.
  const float* panel(std::size_t first) const { return values_.data() + first * rank_; }

 private:
  std::size_t rank_;
  std::size_t columns_;
  std::vector<float> values_;
};

/// values [rows, columns] += b [rows, rank] · a. Adds the ranks in order, with one rounding per product; skips groups
/// of four ranks that are zero in a row. The result does not depend on the instructions.
void add_product(const Panels& a, std::span<const float> b, std::span<float> values,
                 WideInstructions instructions = widest_instructions());

}  // namespace modelutils::adapter
