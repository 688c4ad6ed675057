#include "base/name_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <new>

#include "base/os/files.h"
#include "base/os/process.h"

namespace modelutils {

namespace {

constexpr std::size_t small_page =
    4096;  // alignment of the advised range; machines with larger pages reject the advice, which is harmless
constexpr std::size_t large_page = std::size_t{2} << 20;

}  // namespace

void expect_to_fill(void* memory, std::size_t bytes) {
  if (bytes < large_page) return;
  const std::size_t unaligned = reinterpret_cast<std::uintptr_t>(memory) % small_page;
  const std::size_t skipped = unaligned == 0 ? 0 : small_page - unaligned;
  os::prefer_large_pages(static_cast<char*>(memory) + skipped, (bytes - skipped) / small_page * small_page);
}

void* detail::zeros_in_large_pages(std::size_t bytes, std::unique_ptr<void, Freed>& whole) {
  const std::size_t room = bytes < large_page ? 0 : large_page;
  whole.reset(std::calloc(std::max<std::size_t>(bytes + room, 1), 1));
  if (whole == nullptr) throw std::bad_alloc();
  if (room == 0) return whole.get();
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(whole.get()) % large_page;
  void* const begin = static_cast<char*>(whole.get()) + (beyond == 0 ? 0 : large_page - beyond);
  const std::size_t usable = bytes + room - (beyond == 0 ? 0 : large_page - beyond);
  os::prefer_large_pages(
      begin, std::min(usable, (bytes + large_page - 1) / large_page * large_page) / small_page * small_page);
  return begin;
}

namespace {

u64 seed() {
  static const u64 value = [] {
    u64 random = 0;
    if (!os::random_bytes(&random, sizeof random)) {
      random = reinterpret_cast<u64>(&random);  // fallback: address space randomisation makes this hard to guess
    }
    return random;
  }();
  return value;
}

}  // namespace

u32 NameIndex::hash(std::string_view name) {
  return static_cast<u32>(XXH3_64bits_withSeed(name.data(), name.size(), seed()));
}

std::size_t NameIndex::slot_of(std::string_view name, u32 hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].number_plus_one != 0 &&
         (slots_[slot].hash != hash || names_[slots_[slot].number_plus_one - 1] != name)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NameIndex::grow(std::size_t slots) {
  std::vector<Slot> old;
  old.swap(slots_);
  resize_to_fill(slots_, slots);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& entry : old) {
    if (entry.number_plus_one == 0) continue;
    std::size_t slot = entry.hash & mask;
    while (slots_[slot].number_plus_one != 0) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

void NameIndex::reserve(std::size_t names) {
  reserve_to_fill(names_, names);
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, names * 2));
  if (slots > slots_.size()) grow(slots);
}

NameIndex::Inserted NameIndex::insert(std::string_view name, u32 hash) {
  if (names_.size() * 2 >= slots_.size()) grow(std::max<std::size_t>(16, slots_.size() * 2));
  const std::size_t slot = slot_of(name, hash);
  if (slots_[slot].number_plus_one != 0) return {slots_[slot].number_plus_one - 1, false};
  names_.push_back(name);
  slots_[slot] = {static_cast<u32>(names_.size()), hash};
  return {static_cast<u32>(names_.size() - 1), true};
}

std::optional<u32> NameIndex::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(name, hash(name))];
  if (slot.number_plus_one == 0) return std::nullopt;
  return slot.number_plus_one - 1;
}

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
