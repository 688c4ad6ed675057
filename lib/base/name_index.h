// Maps names to numbers, for up to millions of names from a hostile file: open addressing over views, a keyed hash.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// Numbers names 0, 1, 2, … in the order of first insertion. Stores views, so the text must outlive the index. The hash
/// is seeded at random per process, so that a file cannot be crafted to cause collisions.
class NameIndex {
 public:
  struct Inserted {
    u32 number;   ///< the name's number
    bool is_new;  ///< false if the name was already present
  };

  void reserve(std::size_t names);
  /// Adds a name, or returns the number of an equal one.
  Inserted insert(std::string_view name) { return insert(name, hash(name)); }
  /// Returns the number of a name; nullopt if it is absent.
  std::optional<u32> find(std::string_view name) const;

  /// For inserting many names: hash a name and prefetch its slot, handle other names while the slot is loaded, then
  /// insert.
  static u32 hash(std::string_view name);
  void prefetch(u32 hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  Inserted insert(std::string_view name, u32 hash);

  std::size_t size() const { return names_.size(); }
  std::string_view name(u32 number) const { return names_[number]; }

 private:
  struct Slot {
    u32 number_plus_one = 0;  // 0 marks a free slot
    u32 hash = 0;
  };
  std::size_t slot_of(std::string_view name, u32 hash) const;
  void grow(std::size_t slots);

  std::vector<std::string_view> names_;
  std::vector<Slot> slots_;
};

}  // namespace modelutils
