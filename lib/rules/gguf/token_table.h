// A hash table of a vocabulary's texts: 128,000 insertions and 840,000 look-ups take a few milliseconds.
#pragma once

#include <optional>
#include <string_view>

#include "base/large_pages.h"
#include "base/types.h"

namespace modelutils {

/// A text hash with a random seed.
class TextHash {
 public:
  TextHash();
  u64 operator()(std::string_view text) const;

 private:
  u64 seed_ = 0;
};

/// An open-addressing table of seeded 64-bit hashes; it does not store the texts. A slot has a 32-bit fingerprint and
/// the text's number, so a look-up reads one cache line. 128,000 tokens take 2 MiB of slots.
///
/// insert() compares full hashes: among n different texts the chance of any false match is about n² / 2^65 (5e-10 for
/// 128,000). find() matches an absent text with a chance of about 2^-31. A file cannot provoke either, since TextHash's
/// seed is random.
///
/// To overlap memory latencies, hash a batch of texts and prefetch() each first, and look them up afterwards.
class TokenTable {
 public:
  /// Makes room for texts numbered 0 to `tokens` - 1. Takes 24 to 40 bytes per text.
  explicit TokenTable(u64 tokens);

  void prefetch(u64 hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

  /// Adds a text. If it is present already, changes nothing and returns the number it was added under.
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
  /// Returns the number that the text was added under, or nullopt if absent.
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
    u32 fingerprint;  // 0 if the slot is free
    u32 number;
  };
  static u32 fingerprint(u64 hash) { return static_cast<u32>(hash >> 32) | 1u; }

  std::size_t mask_;
  ZeroedArray<Slot> slots_;
  ZeroedArray<u64> hashes_;  // indexed by number
};

}  // namespace modelutils
