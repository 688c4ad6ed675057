// Names -> numbers, for 1 or 1,000,000 names from a hostile file: open addressing over views, a keyed hash.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Numbers names 0, 1, 2, … in the order in which they are first inserted. Keeps views: the text must outlive it. The
/// hash is seeded at random for each process, so that no file can be made to collide.
class NameIndex {
 public:
  struct Inserted {
    u32 number;   ///< of the name
    bool is_new;  ///< false: it was there before
  };

  void reserve(std::size_t names);
  Inserted insert(std::string_view name) { return insert(name, hash(name)); }
  std::optional<u32> find(std::string_view name) const;

  /// For many names in a row: hash one, go on with others while its place is fetched from memory, then insert it.
  static u32 hash(std::string_view name);
  void prefetch(u32 hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  Inserted insert(std::string_view name, u32 hash);

  std::size_t size() const { return names_.size(); }
  std::string_view name(u32 number) const { return names_[number]; }

 private:
  struct Slot {
    u32 number_plus_one = 0;  // 0: free
    u32 hash = 0;
  };
  std::size_t slot_of(std::string_view name, u32 hash) const;
  void grow(std::size_t slots);

  std::vector<std::string_view> names_;
  std::vector<Slot> slots_;
};

}  // namespace modelutils
