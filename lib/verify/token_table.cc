#include "verify/token_table.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace modelutils {

TokenTable::TokenTable(u64 tokens) : slots_(std::bit_ceil(std::max<u64>(16, tokens * 2))), seed_(0) {
  if (::getrandom(&seed_, sizeof seed_, GRND_NONBLOCK) != sizeof seed_) seed_ = reinterpret_cast<u64>(slots_.data());
}

TokenTable::Key TokenTable::key_of(std::string_view text) const {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(text.data(), text.size(), seed_);
  return {hash.low64, static_cast<u32>(hash.high64)};
}

std::size_t TokenTable::slot_of(const Key& key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = key.low & mask;
  while (slots_[slot].number_plus_one != 0 && (slots_[slot].low != key.low || slots_[slot].high != key.high)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::optional<u32> TokenTable::insert(std::string_view text, u32 number) {
  const Key key = key_of(text);
  Slot& slot = slots_[slot_of(key)];
  if (slot.number_plus_one != 0) return slot.number_plus_one - 1;
  slot = {key.low, key.high, number + 1};
  return std::nullopt;
}

bool TokenTable::contains(std::string_view text) const {
  return slots_[slot_of(key_of(text))].number_plus_one != 0;
}

}  // namespace modelutils
