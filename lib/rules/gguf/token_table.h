// The texts of a vocabulary as a set: built for 128,000 tokens and 840,000 look-ups in a few milliseconds.
#pragma once

#include <optional>
#include <string_view>

#include "base/large_pages.h"
#include "base/types.h"

namespace modelutils {

/// A keyed hash of texts, with a random key.
class TextHash {
 public:
  TextHash();
  u64 operator()(std::string_view text) const;

 private:
  u64 seed_ = 0;
};

/// Open addressing over keyed 64-bit hashes; the texts themselves are not kept. A slot has a 32-bit fingerprint and the
/// number of its text, so that a look-up reads one cache line: 2 MiB of slots for 128,000 tokens.
///
/// insert() compares whole hashes: that two different texts of n look equal has a chance of about n² / 2^65 (5e-10 for
/// 128,000). find() takes a text that is not there for one that is with a chance of about 2^-31. No file can bring
/// either about: the key of TextHash is random.
///
/// Hashing a batch of texts first, with prefetch() for each, and asking afterwards makes the waits for memory overlap.
class TokenTable {
 public:
  /// Room for texts with the numbers 0 to `tokens` - 1. Memory: 24 to 40 bytes for each.
  explicit TokenTable(u64 tokens);

  void prefetch(u64 hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  /// Adds a text. If it is there already, changes nothing and gives the number it was added under.
  std::optional<u32> insert(u64 hash, u32 number) {
    const u32 wanted = fingerprint(hash);
    std::size_t slot = hash & mask_;
    for (; slots_[slot].fingerprint != 0; slot = (slot + 1) & mask_) {
      if (slots_[slot].fingerprint == wanted && hashes_[slots_[slot].number] == hash) return slots_[slot].number;
    }
    slots_[slot] = {wanted, number};
    hashes_[number] = hash;
    return std::nullopt;
  }
  /// The number that the text was added under.
  std::optional<u32> find(u64 hash) const {
    const u32 wanted = fingerprint(hash);
    std::size_t slot = hash & mask_;
    while (slots_[slot].fingerprint != 0 && slots_[slot].fingerprint != wanted) slot = (slot + 1) & mask_;
    if (slots_[slot].fingerprint == 0) return std::nullopt;
    return slots_[slot].number;
  }
  bool contains(u64 hash) const { return find(hash).has_value(); }

 private:
  struct Slot {
    u32 fingerprint;  // 0: free
    u32 number;
  };
  static u32 fingerprint(u64 hash) { return static_cast<u32>(hash >> 32) | 1u; }

  std::size_t mask_;
  ZeroedArray<Slot> slots_;
  ZeroedArray<u64> hashes_;  // by number
};

}  // namespace modelutils
