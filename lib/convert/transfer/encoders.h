// Encoders: convert float32 rows to a type, or blocks to another type without changing any value. The table in
// encoders.cc has one row per supported type. Source: docs/formats/bump5.md, "Types".
#pragma once

#include <span>

#include "base/byte_reader.h"
#include "base/types.h"
#include "convert/transfer/mlx_target.h"
#include "tensor/types.h"

namespace modelutils {

/// Optional inputs of an encoder besides the values.
struct EncodeHints {
  std::span<const float> importance = {};  ///< weight of each column; empty: all equal
  bool as_ggml = false;                    ///< with ggml's own rounding instead of the closest values
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

// Converts blocks between types without changing any value. Source: docs/formats/bump5.md, "Types".

/// Sizes of a source block and of its equivalent in the target type; both hold the same number of elements.
struct BlockConversion {
  u32 from_bytes = 0;
  u32 to_bytes = 0;
};

/// Supports every decodable type to F32; Q4_0 and Q5_0 to Q8_0 (same scale, codes without bias); Q4_1 to Q5_1 (same
/// scale and minimum, fifth bits 0). Precondition: one of these.
BlockConversion conversion_of(TensorType from, TensorType to);

/// Converts out.size() / to_bytes whole blocks. Preconditions: a supported conversion, and a `source` of matching size.
void convert_blocks(TensorType from, TensorType to, Bytes source, MutableBytes out);

}  // namespace modelutils
