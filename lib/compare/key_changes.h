// What differs between the keys of two models, between two arrays of them (without holding either), and between the
// tensors in their headers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/compared_model.h"
#include "model/listing/listing.h"

namespace modelutils {

// Where two arrays of GGUF keys differ, without holding either of them.

/// Elements first … last.
struct IndexRange {
  u64 first = 0;
  u64 last = 0;
};

struct ArrayChanges {
  std::vector<IndexRange> ranges;  ///< of elements that both have, and that differ
  u64 differing = 0;               ///< elements in them
  bool equal = true;               ///< false also for different lengths
};

/// Compares element by element. Memory: 8 bytes an element. Errors: reading.
Result<ArrayChanges> compare_arrays(const ListedArray& a, const ListedArray& b);

/// Element `index` of an array; nothing for an array of arrays. Text is copied into `text`. Errors: reading.
Result<std::optional<ListedValue>> array_element(const ListedArray& array, u64 index, std::string& text);

/// Of one key that both models have. Views into the lists that were compared.
struct KeyChange {
  const ListedKey* a = nullptr;
  const ListedKey* b = nullptr;
  ArrayChanges array;  ///< if both are arrays
};

/// In the order of b for what was added, of a for the rest.
struct KeyChanges {
  std::vector<const ListedKey*> added;    ///< in b only
  std::vector<const ListedKey*> removed;  ///< in a only
  std::vector<KeyChange> changed;         ///< of another type or value

  std::size_t size() const { return added.size() + removed.size() + changed.size(); }
};

/// Compares by name; of equal names in one list the first counts. Keys that match a glob of `ignored` are passed over.
/// NaN equals NaN of the same bits. Errors: reading arrays.
Result<KeyChanges> compare_keys(std::span<const ListedKey> a, std::span<const ListedKey> b,
                                const std::vector<std::string>& ignored);

// Differences between the tensors of two models, from their headers.

/// A tensor that both models have.
struct TensorPair {
  const Tensor* a = nullptr;
  const Tensor* b = nullptr;
  bool is_retyped = false;
};

/// In the order of b for what was added, of a for the rest.
struct TensorChanges {
  std::vector<const Tensor*> added;    ///< in b only
  std::vector<const Tensor*> removed;  ///< in a only
  std::vector<TensorPair> reshaped;    ///< whatever their types
  std::vector<TensorPair> same_shape;  ///< all that can be compared value by value, retyped or not
  u64 retyped = 0;                     ///< of `same_shape`

  /// True if both models have the same tensors in shape and type.
  bool are_alike() const { return added.empty() && removed.empty() && reshaped.empty() && retyped == 0; }
};

/// Pairs tensors by name; of equal names in one model the first counts. Skips tensors that match a glob in `ignored`.
/// Ignores trailing dimensions of 1.
TensorChanges compare_tensors(const ComparedTensors& a, const ComparedTensors& b,
                              const std::vector<std::string>& ignored);

}  // namespace modelutils
