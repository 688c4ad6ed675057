// Encodes values without an exact block type as Q8_0, choosing the best form for each block.
#pragma once

#include <span>

#include "base/types.h"
#include "transfer/mlx_target.h"

namespace modelutils {

/// Encodes values as Q8_0. The candidates for each block are the integer form (d = scale, code = q + q0 with q0 =
/// round(bias / scale), if that fits int8), the constant form (d = value, code 1), and plain Q8_0 (d = largest
/// magnitude / 127, rounded to f16). `exact` has the decoded values. If codes, scales and biases are empty, only the
/// last two are tried. Precondition: `form.params` is affine.
void encode_q8_0_best(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, std::span<const float> exact,
                      MutableBytes out);

}  // namespace modelutils
