// Memory that is about to be filled, in large pages: the first touch of each 4 KiB page costs about a microsecond,
// which is a third of the time that listing 100,000 tensors takes.
#pragma once

#include <vector>

#include "base/types.h"

namespace modelutils {

/// Says of `bytes` of fresh memory at `memory` that nearly all will be written. From 2 MiB on, Linux then gives pages
/// of 2 MiB where it has some and its settings let programs ask (transparent_hugepage: madvise or always). Never an
/// error.
void expect_to_fill(void* memory, std::size_t bytes);

/// vector.reserve(size) for elements that will nearly all be there.
template <typename T>
void reserve_to_fill(std::vector<T>& vector, std::size_t size) {
  vector.reserve(size);
  expect_to_fill(vector.data(), size * sizeof(T));
}

/// The same for vector.resize(size) of an empty vector.
template <typename T>
void resize_to_fill(std::vector<T>& vector, std::size_t size) {
  reserve_to_fill(vector, size);
  vector.resize(size);
}

}  // namespace modelutils
