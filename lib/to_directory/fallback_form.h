// The named forms of --fallback.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils {

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

}  // namespace modelutils
