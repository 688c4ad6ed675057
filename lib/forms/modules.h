// The modules of a directory: which stored tensors make a weight together, in which form, and its logical shape. MLX's
// own rules are in mlx/modules.h; the other forms are recognised by the tensors beside a weight (foreign_forms.h).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "forms/foreign_method.h"
#include "forms/stored_form.h"
#include "mlx/modules.h"

namespace modelutils {

using mlx::no_tensor;

/// A module that owns a weight. Planes are indexes into the list of tensors, no_tensor where there is none.
struct Module {
  std::string_view path;  ///< name of the weight without ".weight", as in the file
  std::array<std::size_t, max_planes> planes{no_tensor, no_tensor, no_tensor, no_tensor, no_tensor};  ///< [0]: weight
  bool quantized = false;          ///< it is made of several tensors
  std::optional<StoredForm> form;  ///< of a quantised module, if it is known; usable if `decodable`
  bool decodable = false;          ///< quantised, and every check of types and shapes against `form` passed
  std::vector<u64> shape;          ///< safetensors order: the logical shape if decodable, else the weight's as stored

  std::size_t weight() const { return planes[0]; }
  /// The other planes of a quantised module.
  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    for (std::size_t i = 1; quantized && i < max_planes; ++i) {
      if (planes[i] != no_tensor) visit(planes[i]);
    }
  }
};

struct Modules {
  std::vector<Module> list;  ///< in the order of their weights in the list of tensors
  FindingLog findings;       ///< those of mlx::find_modules(), and of recognise_foreign_form()
};

/// Time proportional to the number of tensors. The paths are views of the names.
Modules find_stored_modules(std::span<const mlx::TensorRef> tensors, const mlx::Quantization& quantization,
                            const ForeignMethod& foreign);

}  // namespace modelutils
