// Which GGUF type carries a matrix that MLX quantised, and whether exactly: the table of docs/conversion.md as code.
#pragma once

#include <limits>
#include <string>

#include "base/error.h"
#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

/// How a quantised matrix is stored.
struct MlxForm {
  mlx::Params params;
  TensorType scale_type = TensorType::F16;  ///< F16, BF16, F32; U8 in the FP modes
  TensorType bias_type = TensorType::F16;   ///< affine only
  u64 columns = 0;                          ///< elements of a row, a multiple of the group size

  /// "affine 4-bit, group 64, BF16 scales"
  std::string text() const;
};

/// What a look at all scales and biases of a tensor tells. Join the parts with add().
struct ScaleAnalysis {
  u64 values = 0;           ///< scales and biases seen
  u64 inexact = 0;          ///< of them not exact in f16
  u64 too_large = 0;        ///< of them infinite in f16 (65520 and above, NaN and Inf too)
  bool symmetric = true;    ///< bias = -128 × scale in every group (8-bit affine)
  double largest = 0;       ///< bound of |value|: of |bias| and |bias + (2^bits - 1) × scale|; Inf for NaN
  u8 least_exponent = 255;  ///< E8M0 bytes of the mx modes, groups of zeros left out where codes were given
  u8 greatest_exponent = 0;
  u64 odd_scales = 0;  ///< NVFP4 bytes that ggml reads in another way than MLX (0x7F, 0x80 and above)

  // Of integer forms, where codes were given.
  i32 least = std::numeric_limits<i32>::max();  ///< code − zero point
  i32 greatest = std::numeric_limits<i32>::min();
  u64 not_f16 = 0;    ///< values that f16 rounds
  u64 not_bf16 = 0;   ///< values that bf16 rounds
  u64 bad_zeros = 0;  ///< zero points above every code, which readers understand in two ways
  /// Between which code − zero point must lie, whatever the codes are.
  i32 least_possible = std::numeric_limits<i32>::max();
  i32 greatest_possible = std::numeric_limits<i32>::min();
  bool scales_fit = false;  ///< all scales were looked at before, and blocks hold them
  bool is_settled = false;  ///< then: more codes cannot change the choice; `least` and `greatest` are what is possible

  // Of forms that are not MLX's: what no choice mends.
  u64 not_finite = 0;   ///< scales that are NaN or infinite
  u64 negative = 0;     ///< E4M3 scales below 0
  u64 overflowing = 0;  ///< finite scales with which codes become infinite
  bool has_bad_scales() const { return not_finite + negative + overflowing > 0; }

  void add(const ScaleAnalysis& other);
  /// For a second look, at the codes as well: nothing but what the look at all scales leaves open.
  ScaleAnalysis for_codes() const;
};

/// Looks at the scales and biases of whole rows. `codes` may be empty. If given, groups whose codes are all 0 count
/// less: in the mx modes their exponents do not count (Metal writes e = 0 there, which carries no value), unless 255;
/// in affine mode their scales do not count as inexact (MLX writes 1e-7 there, the value is the bias).
void analyse_scales(const MlxForm& form, Bytes scales, Bytes biases, Bytes codes, ScaleAnalysis& analysis);

struct RepackOptions {
  TensorType fallback = TensorType::Q8_0;  ///< for what has no exact block type: Q8_0, F16, BF16 or F32
  bool exact = false;                      ///< refuse what is not carried bit for bit
  bool compat = false;                     ///< avoid MXFP4 and NVFP4
  bool may_scale = false;                  ///< the runtime multiplies by a tensor ".scale" here
};

/// How values get into a target type.
enum class Carry : u8 {
  copy,       ///< the stored bytes, which are of the type
  blocks,     ///< codes regrouped, scales copied: Q4_1, Q5_1, symmetric Q8_0, MXFP4, NVFP4, Q5_0 from mxfp4
  q8_0_best,  ///< each block in the better of the integer form and plain Q8_0
  encode,     ///< exact float32 values, encoded (encoders.h)
};

struct Target {
  TensorType type = TensorType::F32;
  Carry carry = Carry::encode;
  bool exact = true;
  std::string reason;         ///< why, where it is not obvious
  bool has_scale = false;     ///< the values are those of the type times a tensor ".scale"
  bool may_overflow = false;  ///< a scale is so large that values of its group may be infinite or NaN
};

/// What of choose_target()'s answer depends on the scales, as long as all of them are finite and within f16.
enum class ScaleUse : u8 {
  nothing,    ///< the form tells all
  exactness,  ///< the type is certain, whether it is exact is not
  size,       ///< the type, and with it the size
};
ScaleUse scale_use(const MlxForm& form, const RepackOptions& options);

/// Chooses the GGUF type. `must_be_f32` is for norms, biases and routers. Error "convert-inexact" under options.exact
/// if nothing carries the tensor bit for bit.
Result<Target> choose_target(const MlxForm& form, const ScaleAnalysis& analysis, const RepackOptions& options,
                             bool must_be_f32);

/// Does a tensor of type `type`, made from such a matrix, equal it in every value?
bool carries_exactly(const MlxForm& form, const ScaleAnalysis& analysis, TensorType type);

}  // namespace modelutils
