// The texts of a vocabulary as a set: built for 128,000 tokens and 840,000 look-ups in a few milliseconds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Open addressing over 96 bits of a keyed 128-bit hash of each text; the texts themselves are not kept. That two
/// different texts look equal has a chance of about n² / 2^97, and no file can bring it about, because the key is
/// random.
class TokenTable {
 public:
  /// Room for `tokens` texts: 16 bytes for each slot, at most half of them used.
  explicit TokenTable(u64 tokens);

  /// Adds a text under a number below 2^32 - 1. If it is there already, changes nothing and gives the number it has.
  std::optional<u32> insert(std::string_view text, u32 number);
  bool contains(std::string_view text) const;

 private:
  struct Slot {
    u64 low = 0;
    u32 high = 0;
    u32 number_plus_one = 0;  // 0: free
  };
  struct Key {
    u64 low;
    u32 high;
  };
  Key key_of(std::string_view text) const;
  std::size_t slot_of(const Key& key) const;

  std::vector<Slot> slots_;
  u64 seed_;
};

}  // namespace modelutils
