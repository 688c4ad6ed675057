// MLX's packed rows -> ggml blocks, without I/O. Which block type carries which form exactly, and what is lost where
// none does: docs/conversion.md, docs/formats/mlx.md.
#pragma once

#include "base/error.h"
#include "base/types.h"
#include "convert/conversion_report.h"
#include "model/mlx_target.h"
#include "tensor/types.h"

namespace modelutils::convert {

/// Repacks whole rows. `out` has rows × row_bytes(target.type, form.columns) bytes. If `error` is given, the difference
/// to the exact values is measured and added to it (costs decoding both sides).
void repack_rows(const MlxForm& form, const Target& target, Bytes codes, Bytes scales, Bytes biases, MutableBytes out,
                 MeasuredError* error);

/// The 4-bit kernel: `pairs` × 16 bytes of MLX nibbles (even element low) to ggml's order (j low, j + 16 high).
/// Exported for the benchmark.
void regroup_nibbles(const std::byte* in, std::byte* out);

}  // namespace modelutils::convert
