#include "verify/gguf/token_table.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace modelutils {

TokenTable::TokenTable(u64 tokens)
    : fingerprints_(std::bit_ceil(std::max<u64>(16, tokens * 2))),
      entry_of_slot_(fingerprints_.size()),
      mask_(fingerprints_.size() - 1) {
  entries_.reserve(tokens);
  if (::getrandom(&seed_, sizeof seed_, GRND_NONBLOCK) != sizeof seed_) {
    seed_ = reinterpret_cast<u64>(fingerprints_.data());  // address space randomisation is better than nothing
  }
}

u64 TokenTable::hash(std::string_view text) const {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed_);
}

std::optional<u32> TokenTable::insert(u64 hash, u32 number) {
  const u32 wanted = fingerprint(hash);
  std::size_t slot = hash & mask_;
  for (; fingerprints_[slot] != 0; slot = (slot + 1) & mask_) {
    if (fingerprints_[slot] != wanted) continue;
    const Entry& entry = entries_[entry_of_slot_[slot]];
    if (entry.hash == hash) return entry.number;
  }
  fingerprints_[slot] = wanted;
  entry_of_slot_[slot] = static_cast<u32>(entries_.size());
  entries_.push_back({hash, number});
  return std::nullopt;
}

std::optional<u32> TokenTable::find(u64 hash) const {
  const u32 wanted = fingerprint(hash);
  for (std::size_t slot = hash & mask_; fingerprints_[slot] != 0; slot = (slot + 1) & mask_) {
    if (fingerprints_[slot] != wanted) continue;
    const Entry& entry = entries_[entry_of_slot_[slot]];
    if (entry.hash == hash) return entry.number;
  }
  return std::nullopt;
}

}  // namespace modelutils
