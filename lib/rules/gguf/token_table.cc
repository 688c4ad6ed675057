#include "rules/gguf/token_table.h"

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/system.h"

namespace modelutils {

TextHash::TextHash() {
  if (!system::random_bytes(&seed_, sizeof seed_)) {
    seed_ = reinterpret_cast<u64>(this);  // a fallback: address space randomisation makes this hard to guess
  }
}

u64 TextHash::operator()(std::string_view text) const {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed_);
}

TokenTable::TokenTable(u64 tokens)
    : mask_(std::bit_ceil(std::max<u64>(16, tokens * 2)) - 1), slots_(mask_ + 1), hashes_(tokens) {}

}  // namespace modelutils
