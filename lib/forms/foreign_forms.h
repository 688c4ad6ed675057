// Forms of Hugging Face directories that were quantised by another method than MLX's, recognised by the tensors that
// belong to each weight: configurations contradict the files too often. One row each (foreign_forms.cc);
// docs/formats/hf-quantized.md has the forms.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "forms/foreign_method.h"
#include "forms/modules.h"
#include "forms/stored_matrix.h"

namespace modelutils {

/// The tensors of a list by name.
class TensorFinder {
 public:
  virtual ~TensorFinder() = default;
  /// The place of "MODULE.SUFFIX", or no_tensor.
  virtual std::size_t find(std::string_view module, std::string_view suffix) = 0;
};

/// Looks at a module whose planes have the weight alone. If its tensors make up a form, fills in planes, form, shape;
/// what does not fit goes to `findings` (scope model, "hf-scale-type", "hf-scale-missing", "hf-scale-unused",
/// "hf-module-shape") and leaves it undecodable.
void recognise_foreign_form(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, const ForeignMethod& method,
                            Module& module, FindingLog& findings);

/// What only the values of small tensors tell: the shape that weight_shape states, the order of the columns (g_idx),
/// which version's zero points they are, NVFP4's factor. `plane` gives the place of a tensor of the list. Errors:
/// "hf-module-values" at the module (a shape or groups that contradict the tensors, a factor that is 0 or not finite),
/// those of reading.
Status settle_foreign_form(std::span<const mlx::TensorRef> tensors, const ForeignMethod& method,
                           const std::function<StoredPlane(std::size_t tensor)>& plane, Module& module);

/// Does a decodable, settled module have as many values below 0 as above: neither biases nor zero points, or none but
/// the middle of the codes? Reads zero points. Errors: those of reading.
Result<bool> is_symmetric(const Module& module, const std::function<StoredPlane(std::size_t tensor)>& plane);

/// ".weight", ".qweight" or ".weight_packed": what a module's codes are called.
std::string_view module_of_codes(std::string_view name);

/// Experts stacked in one tensor of FP8 whose name has no suffix ("mlp.experts.gate_up_proj").
bool is_fp8_stack(const mlx::TensorRef& tensor);

/// "input_scale", "k_scale" …: what belongs to a quantised module, but is not part of its weight. The last piece of a
/// name.
bool is_activation_scale(std::string_view name);

}  // namespace modelutils
