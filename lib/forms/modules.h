// Finds the modules of a directory: the stored tensors that form a weight, its form, and its logical shape. The rules
// for MLX are in mlx/modules.h; other forms are recognised by the tensors next to a weight (foreign_forms.h).
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

/// A module that owns a weight. Planes are indices into the list of tensors, or no_tensor.
struct Module {
  std::string_view path;  ///< the weight's name without ".weight", as in the file
  std::array<std::size_t, max_planes> planes{no_tensor, no_tensor, no_tensor, no_tensor, no_tensor};  ///< [0]: weight
  bool quantized = false;          ///< several tensors form the weight
  std::optional<StoredForm> form;  ///< for quantised modules of a known form; use it only if `decodable`
  bool decodable = false;          ///< quantised, and all types and shapes match `form`
  std::vector<u64> shape;          ///< safetensors order: the logical shape if decodable, else the stored weight's

  std::size_t weight() const { return planes[0]; }
  /// Visits the planes of a quantised module other than the weight.
  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    for (std::size_t i = 1; quantized && i < max_planes; ++i) {
      if (planes[i] != no_tensor) visit(planes[i]);
    }
  }
};

struct Modules {
  std::vector<Module> list;  ///< in the order of their weights in the list of tensors
  FindingLog findings;       ///< from mlx::find_modules() and recognise_foreign_form()
};

/// Finds the modules of a directory in time proportional to the number of tensors. The paths are views of the tensor
/// names.
Modules find_stored_modules(std::span<const mlx::TensorRef> tensors, const mlx::Quantization& quantization,
                            const ForeignMethod& foreign);

}  // namespace modelutils
