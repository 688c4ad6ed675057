// Forms of Hugging Face directories that were quantised by another method than MLX's, recognised by the tensors beside
// each weight: configurations contradict the files too often. One row each (foreign_forms.cc).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "forms/modules.h"

namespace modelutils {

/// The tensors of a list by name.
class TensorFinder {
 public:
  virtual ~TensorFinder() = default;
  /// The place of "MODULE.SUFFIX", or no_tensor.
  virtual std::size_t find(std::string_view module, std::string_view suffix) = 0;
};

/// Looks at a module whose planes have the weight alone. If its tensors make up a form, fills in planes, form, shape;
/// what does not fit goes to `findings` and leaves it undecodable.
void recognise_foreign_form(std::span<const mlx::TensorRef> tensors, TensorFinder& finder, Module& module,
                            FindingLog& findings);

/// "input_scale", "k_scale" …: what belongs to a quantised module, but is not part of its weight. The last piece of a
/// name.
bool is_activation_scale(std::string_view name);

}  // namespace modelutils
