// Where two arrays of GGUF keys differ, without holding either of them.
#pragma once

#include <vector>

#include "base/error.h"
#include "listing/listing.h"

namespace modelutils {

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

}  // namespace modelutils
