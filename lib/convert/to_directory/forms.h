// Chooses how each tensor of a directory is stored: in a packed form that holds its blocks exactly, in another packed
// form, or plain. Implements the table in docs/gguf2mlx.md, "Forms".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "convert/to_directory/tensor_map.h"
#include "model/catalog.h"
#include "model/mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

// The named forms of --fallback.

/// The form of a matrix that no packed form holds exactly.
struct FallbackForm {
  bool is_plain = false;
  TensorType type = TensorType::F16;  ///< if plain: F16, BF16 or F32
  mlx::Params params = {mlx::Mode::affine, 8, 32};
};
/// Returns the form for a name such as "affine8-g32", "mxfp4" or "bf16", or nullopt if the name is unknown.
std::optional<FallbackForm> fallback_form(std::string_view name);
/// Returns all names, in the order in which --fallback lists them.
std::vector<std::string> fallback_names();

struct FormOptions {
  bool exact = false;                    ///< refuse any tensor that cannot be stored without error
  std::optional<FallbackForm> fallback;  ///< by default 8 bits in groups of 32, searched
  std::optional<TensorType> scales;      ///< F16, BF16 or F32; by default the narrowest that is exact
  std::optional<TensorType> dequantize;  ///< packs nothing and converts everything to this type
  std::optional<TensorType> dtype;       ///< type for tensors that are unquantised in the GGUF
};

/// How a tensor's bytes are produced.
enum class FormWay : u8 {
  plain,     ///< values of `type`, or a copy of the bytes
  blocks,    ///< repacks codes and copies scales
  search,    ///< quantises values with search_two_scales()
  quantize,  ///< quantises values by the rule of mx.quantize
};

struct DirectoryForm {
  FormWay way = FormWay::plain;
  TensorType type = TensorType::F32;  ///< type of plain values, or of scales and biases (U8 in the FP modes)
  mlx::Params params;                 ///< for packed forms
  u32 merged = 1;                     ///< number of exact-form groups per group of `params`
  std::optional<bool> exact = true;   ///< nullopt if only known after writing
  double rms = 0;                     ///< relative error, if known
  std::string reason;                 ///< what is inexact and why

  bool is_packed() const { return way != FormWay::plain; }
  /// Returns a description such as "affine 4-bit, group 64, BF16 scales" or "F16".
  std::string text() const;
};

/// Chooses the forms of all tensors. Reads the blocks of quantised tensors once, and plain tensors until it is clear
/// that a type does not hold them. Errors: "convert-inexact" (with options.exact), "tensor-no-decoder", those of
/// reading.
Result<std::vector<DirectoryForm>> choose_forms(const Catalog& catalog, const std::vector<DirectoryTensor>& tensors,
                                                const FormOptions& options, unsigned threads);

}  // namespace modelutils
