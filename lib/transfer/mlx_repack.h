// MLX's packed rows -> ggml blocks, without I/O. Which block type carries which form exactly, and what is lost where
// none does: docs/conversion.md, docs/formats/mlx.md.
#pragma once

#include "base/error.h"
#include "base/types.h"
#include "tensor/types.h"
#include "transfer/conversion_report.h"
#include "transfer/mlx_target.h"

namespace modelutils::convert {

/// Repacks whole rows, the arrays at any address: `codes` has the packed weights, `scales` and `biases` (affine only)
/// one value a group, `out` rows × row_bytes(target.type, form.columns) bytes. If `error` is given, the difference to
/// the exact values is measured and added to it (costs decoding both sides). Any number of threads may call it at once.
/// Preconditions: the sizes agree, choose_target() chose `target` for this form.
void repack_rows(const MlxForm& form, const Target& target, Bytes codes, Bytes scales, Bytes biases, MutableBytes out,
                 MeasuredError* error);

}  // namespace modelutils::convert
