// A set of pairs of numbers that grows to millions: sixteen bytes a place, no allocation for each.
#pragma once

#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Pairs such as device and inode. Open addressing, at most three quarters full.
class PairSet {
 public:
  /// Was it not in the set before?
  bool insert(u64 first, u64 second);
  bool contains(u64 first, u64 second) const;
  std::size_t size() const { return size_ + (has_zero_ ? 1 : 0); }

 private:
  using Pair = std::pair<u64, u64>;
  static constexpr Pair empty{0, 0};
  /// The place of the pair, or the empty one where it would go.
  std::size_t place_of(const Pair& pair) const;
  void grow();

  std::vector<Pair> places_;  // a power of two of them
  std::size_t size_ = 0;      // without the pair that marks empty places
  bool has_zero_ = false;
};

}  // namespace modelutils
