// Encoders: convert float32 rows to a type. The table in encoders.cc has one row per supported type.
#pragma once

#include <span>

#include "base/types.h"
#include "tensor/types.h"
#include "transfer/mlx_target.h"

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

/// Encodes values as Q8_0. The candidates for each block are the integer form (d = scale, code = q + q0 with q0 =
/// round(bias / scale), if that fits int8), the constant form (d = value, code 1), and plain Q8_0 (d = largest
/// magnitude / 127, rounded to f16). `exact` has the decoded values. If codes, scales and biases are empty, only the
/// last two are tried. Precondition: `form.params` is affine.
void encode_q8_0_best(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, std::span<const float> exact,
                      MutableBytes out);

}  // namespace modelutils
