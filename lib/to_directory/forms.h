// How each tensor of a directory is stored: in the packed form that holds its blocks exactly, in another one, or plain.
// The table of docs/gguf2mlx.md, "Forms", as code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "mlx/quantization.h"
#include "model/tensor_catalog.h"
#include "tensor/types.h"
#include "to_directory/fallback_form.h"
#include "to_directory/tensor_map.h"

namespace modelutils {

struct FormOptions {
  bool exact = false;                    ///< refuse what is not carried with error 0
  std::optional<FallbackForm> fallback;  ///< default: 8 bits in groups of 32, searched
  std::optional<TensorType> scales;      ///< F16, BF16 or F32; default: the narrowest that is exact
  std::optional<TensorType> dequantize;  ///< nothing is packed, everything gets this type
  std::optional<TensorType> dtype;       ///< of what the GGUF has unquantised
};

/// How a tensor becomes what it is in the directory.
enum class FormWay : u8 {
  plain,     ///< values of `type`, or the bytes as they are
  blocks,    ///< codes repacked, scales copied
  search,    ///< values, by search_two_scales()
  quantize,  ///< values, by the rule of mx.quantize
};

struct DirectoryForm {
  FormWay way = FormWay::plain;
  TensorType type = TensorType::F32;  ///< of plain values, or of scales and biases (U8 in the FP modes)
  mlx::Params params;                 ///< of packed ones
  u32 merged = 1;                     ///< groups of the exact form in one of `params`
  std::optional<bool> exact = true;   ///< nothing: known only when it is written
  double rms = 0;                     ///< relative, where it is known
  std::string reason;                 ///< what is inexact, and why

  bool is_packed() const { return way != FormWay::plain; }
  /// "affine 4-bit, group 64, BF16 scales", "F16"
  std::string text() const;
};

/// Chooses the forms of all tensors. Reads the blocks of quantised tensors once, and of plain ones as far as it takes
/// to see that a type does not hold them. Errors: "convert-inexact" (with options.exact), reading, "tensor-no-decoder".
Result<std::vector<DirectoryForm>> choose_forms(const Catalog& catalog, const std::vector<DirectoryTensor>& tensors,
                                                const FormOptions& options, unsigned threads);

}  // namespace modelutils
