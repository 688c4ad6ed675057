// A set of number pairs that can grow to millions: sixteen bytes per slot, no allocation per pair.
#pragma once

#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// A set of pairs such as (device, inode). Open addressing, at most three quarters full.
class PairSet {
 public:
  /// Returns true if the pair was not in the set.
  bool insert(u64 first, u64 second);
  bool contains(u64 first, u64 second) const;
  std::size_t size() const { return size_ + (has_zero_ ? 1 : 0); }

 private:
  using Pair = std::pair<u64, u64>;
  static constexpr Pair empty{0, 0};
  /// Returns the slot of the pair, or the empty slot where it would go.
  std::size_t place_of(const Pair& pair) const;
  void grow();

  std::vector<Pair> places_;  // size is a power of two
  std::size_t size_ = 0;      // excludes the pair (0, 0), which marks empty slots
  bool has_zero_ = false;
};

}  // namespace modelutils
