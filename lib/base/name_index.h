// Tables for up to millions of names or pairs from a hostile file: open addressing with a keyed hash, no allocation
// per entry, in large pages, because the first touch of each 4 KiB page costs about a microsecond.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"

namespace modelutils {

// Large pages for memory that is about to be filled. The first touch of each 4 KiB page costs about a microsecond; for
// a list of 100,000 tensors that is a third of the total time.

/// Tells the system that nearly all of the `bytes` of fresh memory at `memory` will be written. From 2 MiB on, Linux
/// then uses 2 MiB pages if it has some and transparent_hugepage is set to madvise or always. Never fails.
void expect_to_fill(void* memory, std::size_t bytes);

/// Calls reserve(size) on a vector or string that nearly `size` elements will fill.
template <typename Elements>
void reserve_to_fill(Elements& elements, std::size_t size) {
  elements.reserve(size);
  expect_to_fill(elements.data(), size * sizeof(typename Elements::value_type));
}

/// Like reserve_to_fill(), but calls resize(size) on an empty vector or string.
template <typename Elements>
void resize_to_fill(Elements& elements, std::size_t size) {
  reserve_to_fill(elements, size);
  elements.resize(size);
}

namespace detail {
struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
/// Zeroed memory, aligned to a large page if it fills one. `whole` owns the allocation. Throws std::bad_alloc.
void* zeros_in_large_pages(std::size_t bytes, std::unique_ptr<void, Freed>& whole);
}  // namespace detail

/// A fixed number of zeroed elements. The system supplies zero pages, so construction writes nothing; for 12 MB this
/// takes half the time of constructing a vector.
template <typename T>
class ZeroedArray {
 public:
  explicit ZeroedArray(std::size_t size)
      : data_(static_cast<T*>(detail::zeros_in_large_pages(size * sizeof(T), whole_))) {}

  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  const T* data() const { return data_; }

 private:
  std::unique_ptr<void, detail::Freed> whole_;
  T* data_;
};

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

// A set of number pairs that can grow to millions: sixteen bytes per slot, no allocation per pair.

/// A set of pairs such as (device, inode). Open addressing, at most three quarters full.
class PairSet {
 public:
  /// Returns true if the pair was not in the set.
  bool insert(u64 first, u64 second);
  bool contains(u64 first, u64 second) const;
  std::size_t size() const { return size_ + (has_zero_ ? 1 : 0); }

 private:
  using Pair = std::pair<u64, u64>;
  static constexpr Pair empty{0, 0};
  /// Returns the slot of the pair, or the empty slot where it would be stored.
  std::size_t place_of(const Pair& pair) const;
  void grow();

  std::vector<Pair> places_;  // size is a power of two
  std::size_t size_ = 0;      // excludes the pair (0, 0), which marks empty slots
  bool has_zero_ = false;
};

}  // namespace modelutils
