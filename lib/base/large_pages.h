// Memory that is about to be filled, in large pages: the first touch of each 4 KiB page costs about a microsecond,
// which is a third of the time that listing 100,000 tensors takes.
#pragma once

#include "base/types.h"

namespace modelutils {

/// Says of `bytes` of fresh memory at `memory` that nearly all will be written. From 2 MiB on, Linux then gives pages
/// of 2 MiB where it has some and its settings let programs ask (transparent_hugepage: madvise or always). Never an
/// error.
void expect_to_fill(void* memory, std::size_t bytes);

/// reserve(size) of a vector or string whose elements will nearly all be there.
template <typename Elements>
void reserve_to_fill(Elements& elements, std::size_t size) {
  elements.reserve(size);
  expect_to_fill(elements.data(), size * sizeof(typename Elements::value_type));
}

/// The same for resize(size) of an empty one.
template <typename Elements>
void resize_to_fill(Elements& elements, std::size_t size) {
  reserve_to_fill(elements, size);
  elements.resize(size);
}

}  // namespace modelutils
