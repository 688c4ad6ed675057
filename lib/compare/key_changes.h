// What differs between the keys of two models.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/array_changes.h"
#include "listing/listing.h"

namespace modelutils {

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

}  // namespace modelutils
