// The texts of a vocabulary as a set: built for 128,000 tokens and 840,000 look-ups in a few milliseconds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Open addressing over a keyed 64-bit hash of each text; the texts themselves are not kept. That two different texts
/// of n look equal has a chance of about n² / 2^65 (5e-10 for 128,000), and no file can bring it about: the key is
/// random.
///
/// The table does not fit into a core's cache, so that a look-up waits for memory. Hashing a batch of texts first, with
/// prefetch() for each, and asking afterwards makes the waits overlap.
class TokenTable {
 public:
  /// Room for `tokens` texts: 12 bytes for each slot, at most half of them used.
  explicit TokenTable(u64 tokens);

  u64 hash(std::string_view text) const;
  void prefetch(u64 hash) const { __builtin_prefetch(&hashes_[hash & mask_]); }

  /// Adds a text under a number. If it is there already, changes nothing and gives the number it has.
  std::optional<u32> insert(u64 hash, u32 number);
  bool contains(u64 hash) const { return hashes_[slot_of(hash)] != 0; }

 private:
  std::size_t slot_of(u64 hash) const {
    std::size_t slot = hash & mask_;
    while (hashes_[slot] != 0 && hashes_[slot] != hash) slot = (slot + 1) & mask_;
    return slot;
  }

  std::vector<u64> hashes_;  // 0: free
  std::vector<u32> numbers_;
  std::size_t mask_;
  u64 seed_ = 0;
};

}  // namespace modelutils
