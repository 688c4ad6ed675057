// Q8_0 for what has no exact block type: each block of 32 in the form with the smaller error.
#pragma once

#include <span>

#include "base/types.h"
#include "transfer/mlx_target.h"

namespace modelutils {

/// Encodes values as Q8_0. For every block the candidates are: the integer form (d = scale, code = q + q0 with
/// q0 = round(bias / scale), if that fits int8), the constant form (d = value, code 1), and plain Q8_0 (d = largest
/// magnitude / 127, as f16 holds it). `exact` holds the decoded values; codes, scales and biases may be empty for other
/// sources, then only the last two are tried. `form.params` is affine.
void encode_q8_0_best(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, std::span<const float> exact,
                      MutableBytes out);

}  // namespace modelutils
