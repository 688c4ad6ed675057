// The forms of --fallback, by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

/// What carries a matrix that no packed form holds exactly.
struct FallbackForm {
  bool is_plain = false;
  TensorType type = TensorType::F16;  ///< if plain: F16, BF16 or F32
  mlx::Params params = {mlx::Mode::affine, 8, 32};
};
/// "affine8-g32", "mxfp4", "bf16" …; nothing if it is none of them.
std::optional<FallbackForm> fallback_form(std::string_view name);
/// All their names, as --fallback lists them.
std::vector<std::string> fallback_names();

}  // namespace modelutils
