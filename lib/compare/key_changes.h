// Finds the differences between the keys of two models, between two array keys (without loading either), and between
// the tensors in their headers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/compared_model.h"
#include "model/listing/listing.h"

namespace modelutils {

// Finds where two array keys of GGUFs differ, without loading either.

/// Elements first … last, inclusive.
struct IndexRange {
  u64 first = 0;
  u64 last = 0;
};

struct ArrayChanges {
  std::vector<IndexRange> ranges;  ///< elements that both arrays have and that differ
  u64 differing = 0;               ///< number of elements in `ranges`
  bool equal = true;               ///< also false if the lengths differ
};

/// Compares element by element. Memory: 8 bytes per element. Errors: reading.
Result<ArrayChanges> compare_arrays(const ListedArray& a, const ListedArray& b);

/// Returns element `index` of an array; nullopt if it is an array itself. Copies text into `text`. Errors: reading.
Result<std::optional<ListedValue>> array_element(const ListedArray& array, u64 index, std::string& text);

/// A key that both models have. Views into the compared lists.
struct KeyChange {
  const ListedKey* a = nullptr;
  const ListedKey* b = nullptr;
  ArrayChanges array;  ///< if both are arrays
};

/// Added keys are in the order of b, all others in the order of a.
struct KeyChanges {
  std::vector<const ListedKey*> added;    ///< in b only
  std::vector<const ListedKey*> removed;  ///< in a only
  std::vector<KeyChange> changed;         ///< with another type or value

  std::size_t size() const { return added.size() + removed.size() + changed.size(); }
};

/// Compares by name; if a list has a name twice, the first counts. Skips keys that match a glob in `ignored`. NaN
/// equals a NaN with the same bits. Errors: reading arrays.
Result<KeyChanges> compare_keys(std::span<const ListedKey> a, std::span<const ListedKey> b,
                                const std::vector<std::string>& ignored);

// Differences between the tensors of two models, from their headers.

/// A tensor that both models have.
struct TensorPair {
  const Tensor* a = nullptr;
  const Tensor* b = nullptr;
  bool is_retyped = false;
};

/// Added tensors are in the order of b, all others in the order of a.
struct TensorChanges {
  std::vector<const Tensor*> added;    ///< in b only
  std::vector<const Tensor*> removed;  ///< in a only
  std::vector<TensorPair> reshaped;    ///< other shape; the types may differ, too
  std::vector<TensorPair> same_shape;  ///< same shape, so the values can be compared; the types may differ
  u64 retyped = 0;                     ///< of `same_shape`

  /// True if both models have the same tensors with the same shapes and types.
  bool are_alike() const { return added.empty() && removed.empty() && reshaped.empty() && retyped == 0; }
};

/// Pairs tensors by name; if a model has a name twice, the first counts. Skips tensors that match a glob in `ignored`.
/// Ignores trailing dimensions of 1.
TensorChanges compare_tensors(const ComparedTensors& a, const ComparedTensors& b,
                              const std::vector<std::string>& ignored);

}  // namespace modelutils
