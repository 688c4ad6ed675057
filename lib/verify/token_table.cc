#include "verify/token_table.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace modelutils {

TokenTable::TokenTable(u64 tokens)
    : hashes_(std::bit_ceil(std::max<u64>(16, tokens * 2))), numbers_(hashes_.size()), mask_(hashes_.size() - 1) {
  if (::getrandom(&seed_, sizeof seed_, GRND_NONBLOCK) != sizeof seed_) seed_ = reinterpret_cast<u64>(hashes_.data());
}

u64 TokenTable::hash(std::string_view text) const {
  const u64 hash = XXH3_64bits_withSeed(text.data(), text.size(), seed_);
  return hash != 0 ? hash : 1;
}

std::optional<u32> TokenTable::insert(u64 hash, u32 number) {
  const std::size_t slot = slot_of(hash);
  if (hashes_[slot] != 0) return numbers_[slot];
  hashes_[slot] = hash;
  numbers_[slot] = number;
  return std::nullopt;
}

}  // namespace modelutils
