// Exact decoding of MLX's packed matrices to float32 (docs/formats/mlx.md, "A quantised matrix").
#pragma once

#include <span>

#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// A run of whole groups, at any alignment.
struct Groups {
  Bytes codes;  ///< groups × params.group_bytes()
  TensorType scale_type = TensorType::F16;
  Bytes scales;                            ///< one scale per group
  TensorType bias_type = TensorType::F16;  ///< affine only
  Bytes biases;                            ///< one bias per group; empty in the other modes
};

/// Decodes out.size() / group_size groups: scale × q + bias in float32 for affine mode (product and sum each rounded
/// once), scale × element for the FP modes. Special codes as in MLX: E8M0 0 is 2^-127 and 255 is Inf; E4M3 0x7F is 480.
/// Preconditions: sizes agree, params_problem() is nullopt, is_scale_type().
void dequantize(const Params& params, const Groups& groups, std::span<float> out);

/// Unpacks `out.size()` codes of `bits` bits from a little-endian bit stream. All widths are packed like this.
void unpack_codes(u32 bits, Bytes packed, std::span<u8> out);

/// MLX's E8M0: bits << 7 as a bf16, 0 as 2^-127.
float e8m0_to_f32(u8 bits);
/// MLX's E4M3: 0x7F is 480, 0xFF is -480, no NaN.
float e4m3_to_f32(u8 bits);

}  // namespace modelutils::mlx
