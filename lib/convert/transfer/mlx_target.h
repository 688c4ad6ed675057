// Chooses the GGUF type for a matrix quantised by MLX, as described in docs/conversion.md.
#pragma once

#include <limits>
#include <string>

#include "base/error.h"
#include "base/types.h"
#include "model/mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

/// The storage form of a quantised matrix.
struct MlxForm {
  mlx::Params params;
  TensorType scale_type = TensorType::F16;  ///< F16, BF16 or F32; U8 in the FP modes
  TensorType bias_type = TensorType::F16;   ///< affine mode only
  u64 columns = 0;                          ///< elements per row, a multiple of the group size

  /// "affine 4-bit, group 64, BF16 scales"
  std::string text() const;
};

/// Statistics of a tensor's scales and biases. Combine parts with add().
struct ScaleAnalysis {
  u64 values = 0;           ///< scales and biases examined
  u64 inexact = 0;          ///< those that f16 rounds
  u64 too_large = 0;        ///< those that f16 cannot hold: 65520 and above, infinity, NaN
  bool symmetric = true;    ///< 8-bit affine: bias = −128 × scale in every group
  double largest = 0;       ///< upper bound of |value|: max of |bias| and |bias + (2^bits − 1) × scale|; Inf if NaN
                            ///< occurs
  u8 least_exponent = 255;  ///< E8M0 bytes of the mx modes, except for groups of zeros if codes were given
  u8 greatest_exponent = 0;
  u64 odd_scales = 0;  ///< NVFP4 bytes that ggml and MLX interpret differently (0x7F, 0x80 and above)

  // Integer forms, if codes were given:
  i32 least = std::numeric_limits<i32>::max();  ///< range of code − zero point
  i32 greatest = std::numeric_limits<i32>::min();
  u64 not_f16 = 0;    ///< values that f16 rounds
  u64 not_bf16 = 0;   ///< values that bf16 rounds
  u64 bad_zeros = 0;  ///< zero points above every code, which readers interpret differently
  /// Range of code − zero point for any codes.
  i32 least_possible = std::numeric_limits<i32>::max();
  i32 greatest_possible = std::numeric_limits<i32>::min();
  bool scales_fit = false;  ///< all scales were examined before, and block types hold them
  bool is_settled = false;  ///< more codes cannot change the choice; `least` and `greatest` are then the possible range

  // Forms other than MLX's; no choice of type can fix these:
  u64 not_finite = 0;   ///< NaN or infinite scales
  u64 negative = 0;     ///< negative E4M3 scales
  u64 overflowing = 0;  ///< finite scales that make codes infinite
  bool has_bad_scales() const { return not_finite + negative + overflowing > 0; }

  void add(const ScaleAnalysis& other);
  /// Starts a second analysis that includes the codes, keeping only the results for all scales that it needs.
  ScaleAnalysis for_codes() const;
};

/// Analyses the scales and biases of whole rows. If `codes` are given, groups whose codes are all 0 are treated
/// specially: in the mx modes their exponents are ignored unless 255 (Metal writes e = 0, which has no effect); in
/// affine mode their scales do not count as inexact (MLX writes 1e-7; the value is the bias).
void analyse_scales(const MlxForm& form, Bytes scales, Bytes biases, Bytes codes, ScaleAnalysis& analysis);

struct RepackOptions {
  TensorType fallback = TensorType::Q8_0;  ///< type for tensors without an exact block type: Q8_0, F16, BF16 or F32
  bool exact = false;                      ///< refuse tensors that no type holds bit for bit
  bool compat = false;                     ///< avoid MXFP4 and NVFP4
  bool may_scale = false;                  ///< the runtime multiplies this tensor by a ".scale" tensor
};

/// How values are converted to the target type.
enum class Carry : u8 {
  copy,       ///< copy the stored bytes, which have the target type
  blocks,     ///< regroup codes and copy scales: Q4_1, Q5_1, symmetric Q8_0, MXFP4, NVFP4, Q5_0 from mxfp4
  q8_0_best,  ///< for each block, the better of the integer form and plain Q8_0
  encode,     ///< encode the exact float32 values (encoders.h)
};

struct Target {
  TensorType type = TensorType::F32;
  Carry carry = Carry::encode;
  bool exact = true;
  std::string reason;         ///< explains a choice that is not obvious
  bool has_scale = false;     ///< the values must be multiplied by a ".scale" tensor
  bool may_overflow = false;  ///< a scale is so large that values of its group may become infinite or NaN
};

/// The part of choose_target()'s result that depends on the scales, provided that all are finite and within f16's
/// range.
enum class ScaleUse : u8 {
  nothing,    ///< none: the form alone determines the result
  exactness,  ///< the type is fixed, but not whether it is exact
  size,       ///< the type, and therefore the size
};
/// Returns which part of the choice depends on the scales of a matrix in this form.
ScaleUse scale_use(const MlxForm& form, const RepackOptions& options);

/// Chooses the GGUF type. `must_be_f32` is for norms, biases and routers. Fails with "convert-inexact" under
/// options.exact if no type holds the tensor bit for bit.
Result<Target> choose_target(const MlxForm& form, const ScaleAnalysis& analysis, const RepackOptions& options,
                             bool must_be_f32);

/// True if a tensor of `type`, converted from such a matrix, equals it in every value.
bool carries_exactly(const MlxForm& form, const ScaleAnalysis& analysis, TensorType type);

/// Converts whole groups to blocks of `type` (Carry::blocks). `out` must have exactly the bytes they need.
void repack_blocks(const MlxForm& form, TensorType type, Bytes codes, Bytes scales, Bytes biases, MutableBytes out);

}  // namespace modelutils
