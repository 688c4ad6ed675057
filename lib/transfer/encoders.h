// Encoders: rows of a type from float32 values. One row of the table (encoders.cc) for each type that can be made.
#pragma once

#include <span>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// What an encoder may want to know beside the values.
struct EncodeHints {
  std::span<const float> importance = {};  ///< of each column of the rows; empty: all alike
};

struct Encoder {
  TensorType type;
  /// Encodes whole rows of `columns` elements, a multiple of the type's block elements; `out` has the bytes that they
  /// take. A row's bytes depend on nothing but its values and the hints. Any number of threads may call it at once.
  void (*encode)(std::span<const float> values, u64 columns, const EncodeHints& hints, MutableBytes out);
};

/// nullptr if nothing makes the type.
const Encoder* encoder_of(TensorType type);

}  // namespace modelutils
