#include "base/pair_set.h"

namespace modelutils {

namespace {

// SplitMix64's finaliser. Spreads consecutive inodes over the table.
u64 mixed(u64 value) {
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9u;
  value ^= value >> 27;
  value *= 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

std::size_t PairSet::place_of(const Pair& pair) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = static_cast<std::size_t>(mixed(pair.first ^ mixed(pair.second))) & mask;
  while (places_[place] != empty && places_[place] != pair) place = (place + 1) & mask;
  return place;
}

void PairSet::grow() {
  std::vector<Pair> old(places_.empty() ? 64 : places_.size() * 2);
  old.swap(places_);
  for (const Pair& pair : old) {
    if (pair != empty) places_[place_of(pair)] = pair;
  }
}

bool PairSet::insert(u64 first, u64 second) {
  const Pair pair{first, second};
  if (pair == empty) return !std::exchange(has_zero_, true);
  if ((size_ + 1) * 4 > places_.size() * 3) grow();
  Pair& place = places_[place_of(pair)];
  if (place == pair) return false;
  place = pair;
  ++size_;
  return true;
}

bool PairSet::contains(u64 first, u64 second) const {
  const Pair pair{first, second};
  if (pair == empty) return has_zero_;
  return !places_.empty() && places_[place_of(pair)] == pair;
}

}  // namespace modelutils
