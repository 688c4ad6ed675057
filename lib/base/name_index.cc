#include "base/name_index.h"

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/large_pages.h"
#include "base/system.h"

namespace modelutils {

namespace {

u64 seed() {
  static const u64 value = [] {
    u64 random = 0;
    if (!system::random_bytes(&random, sizeof random)) {
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

}  // namespace modelutils
