// Differences between the tensors of two models, from their headers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/compared_model.h"

namespace modelutils {

/// A tensor that both models have.
struct TensorPair {
  const ComparedTensor* a = nullptr;
  const ComparedTensor* b = nullptr;

  bool is_retyped() const { return a->type != b->type; }
};

/// In the order of b for what was added, of a for the rest.
struct TensorChanges {
  std::vector<const ComparedTensor*> added;    ///< in b only
  std::vector<const ComparedTensor*> removed;  ///< in a only
  std::vector<TensorPair> reshaped;            ///< whatever their types
  std::vector<TensorPair> same_shape;          ///< all that can be compared value by value, retyped or not
  u64 retyped = 0;                             ///< of `same_shape`

  /// True if both models have the same tensors in shape and type.
  bool are_alike() const { return added.empty() && removed.empty() && reshaped.empty() && retyped == 0; }
};

/// Pairs tensors by name; of equal names in one model the first counts. Skips tensors that match a glob in `ignored`.
/// Ignores trailing dimensions of 1.
TensorChanges compare_tensors(std::span<const ComparedTensor> a, std::span<const ComparedTensor> b,
                              const std::vector<std::string>& ignored);

}  // namespace modelutils
