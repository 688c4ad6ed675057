// Recognises the forms of Hugging Face directories quantised by methods other than MLX's. It relies on the tensors that
// belong to each weight, because configurations often contradict the files. The table in foreign_forms.cc has one row
// per form; docs/formats/hf-quantized.md describes them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/forms/modules.h"
#include "model/forms/stored_form.h"

namespace modelutils {

/// Finds tensors of a list by name.
class TensorFinder {
 public:
  virtual ~TensorFinder() = default;
  /// Returns the index of "MODULE.SUFFIX", or no_tensor.
  virtual std::size_t find(std::string_view module, std::string_view suffix) = 0;
};

/// Examines a module whose planes contain only the weight. If its tensors match a form, sets planes, form and shape.
/// Otherwise adds a finding (scope model: "hf-scale-type", "hf-scale-missing", "hf-scale-unused", "hf-module-shape")
/// and leaves the module undecodable.
void recognise_foreign_form(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, const ForeignMethod& method,
                            Module& module, FindingLog& findings);

/// Recognises DeepSeek's MXFP4, which no settings announce: "P.weight" of I8 with two codes per byte, and "P.scale" of
/// F8_E8M0 with an exponent per 32 elements. Returns false for other modules. Adds the finding "hf-module-shape" (scope
/// model) if the shapes do not match.
bool recognise_fp4_with_exponents(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, Module& module,
                                  FindingLog& findings);

/// Completes the form with facts from the values of small tensors: the shape in weight_shape, the column order (g_idx),
/// the convention of the zero points, NVFP4's factor. `plane` returns the location of a tensor in the list. Fails with
/// "hf-module-values" at the module (a shape or groups that contradict the tensors, a factor that is 0 or not finite),
/// or if reading fails.
Status settle_foreign_form(std::span<const mlx::TensorRef> tensors, const ForeignMethod& method,
                           const std::function<StoredPlane(std::size_t tensor)>& plane, Module& module);

/// True if values of a settled form are symmetric around 0: neither biases nor zero points, or all zero points in the
/// middle of the code range. Reads the `zeros` of a matrix, or stack of matrices, whose outermost dimension is `rows`;
/// fails only if that fails.
Result<bool> is_symmetric(const StoredForm& form, u64 rows, const StoredPlane& zeros);

/// Returns the module of a tensor of codes: the name without ".weight", ".qweight" or ".weight_packed". Empty for other
/// names.
std::string_view module_of_codes(std::string_view name);

/// True for experts stacked in one FP8 tensor whose name has no suffix ("mlp.experts.gate_up_proj").
bool is_fp8_stack(const mlx::TensorRef& tensor);

/// True for the last part of a name such as "input_scale" or "k_scale": tensors of a quantised module that are not part
/// of its weight.
bool is_activation_scale(std::string_view name);

}  // namespace modelutils

namespace modelutils::foreign {

// Shared parts of the recognisers of foreign forms. Internal to lib/model/forms.

inline u64 ceil_div(u64 value, u64 by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

bool is_float(std::optional<TensorType> type);

struct Recognition {
  std::span<const mlx::TensorRef> tensors;
  TensorFinder& finder;
  const ForeignMethod& method;
  Module& module;
  FindingLog& findings;

  /// Sets plane 1. Returns false, after a finding, if it is not a floating-point type.
  bool take_scale(std::size_t place, std::string_view suffix);
  /// Reports a tensor of wrong shape. Returns true, because the tensors are recognised nevertheless.
  bool misfit(std::string_view suffix, std::size_t place);
  /// Reports settings that contradict the tensors. Returns true, too.
  bool contradict(std::string message);
  /// Returns false, after a finding, if rows of `columns` in `groups` groups match no stated group size. Ignores
  /// settings for other widths.
  bool has_stated_groups(u64 bits, u64 columns, u64 groups);
  /// Returns false, after a finding, if the settings require zero points for this width and the module has none.
  bool may_lack_zeros(u64 bits);
};

/// True if rows of `columns` in `groups` groups match a group size stated for weights of this width, or if none is
/// stated.
bool has_stated_groups(const ForeignMethod& method, u64 bits, u64 columns, u64 groups);

// Each returns true if the module has its form, even if it is invalid.
bool recognise_gptq_or_awq(Recognition& of);  ///< "P.qweight" with qzeros and scales
bool recognise_packed(Recognition& of);       ///< "P.weight_packed" of I32, from compressed-tensors
bool recognise_int8(Recognition& of);         ///< "P.weight" of I8 with a scale per row

}  // namespace modelutils::foreign
