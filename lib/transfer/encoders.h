// Encoders: convert float32 rows to a type. The table in encoders.cc has one row per supported type.
#pragma once

#include <span>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Optional inputs of an encoder besides the values.
struct EncodeHints {
  std::span<const float> importance = {};  ///< weight of each column; empty: all equal
};

struct Encoder {
  TensorType type;
  /// Encodes whole rows of `columns` elements, a multiple of the type's block size; `out` has exactly the bytes they
  /// need. The result depends only on the row's values and the hints. Thread-safe.
  void (*encode)(std::span<const float> values, u64 columns, const EncodeHints& hints, MutableBytes out);
};

/// Returns nullptr if there is no encoder for the type.
const Encoder* encoder_of(TensorType type);

}  // namespace modelutils
