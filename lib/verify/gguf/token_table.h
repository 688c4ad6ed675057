// The texts of a vocabulary as a set: built for 128,000 tokens and 840,000 look-ups in a few milliseconds.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Open addressing over keyed 64-bit hashes; the texts themselves are not kept. A look-up reads only the table of
/// 32-bit fingerprints, 1 MiB for 128,000 tokens, which stays in a core's second level cache.
///
/// insert() compares whole hashes: that two different texts of n look equal has a chance of about n² / 2^65 (5e-10 for
/// 128,000). contains() takes a text that is not there for one that is with a chance of about 2^-31. No file can bring
/// either about: the key is random.
///
/// Hashing a batch of texts first, with prefetch() for each, and asking afterwards makes the waits for memory overlap.
class TokenTable {
 public:
  /// Room for `tokens` texts. Memory: 24 to 40 bytes for each.
  explicit TokenTable(u64 tokens);

  u64 hash(std::string_view text) const;
  void prefetch(u64 hash) const { __builtin_prefetch(&fingerprints_[hash & mask_]); }

  /// Adds a text. If it is there already, changes nothing and gives the number it was added under.
  std::optional<u32> insert(u64 hash, u32 number);
  /// The number that the text was added under.
  std::optional<u32> find(u64 hash) const;
  bool contains(u64 hash) const {
    const u32 wanted = fingerprint(hash);
    std::size_t slot = hash & mask_;
    while (fingerprints_[slot] != 0 && fingerprints_[slot] != wanted) slot = (slot + 1) & mask_;
    return fingerprints_[slot] != 0;
  }

 private:
  struct Entry {
    u64 hash;
    u32 number;
  };
  static u32 fingerprint(u64 hash) { return static_cast<u32>(hash >> 32) | 1u; }  // 0: free

  std::vector<u32> fingerprints_;
  std::vector<u32> entry_of_slot_;
  std::vector<Entry> entries_;  // in the order of insertion
  std::size_t mask_;
  u64 seed_ = 0;
};

}  // namespace modelutils
