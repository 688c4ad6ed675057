// Adapters as sides of a comparison: what their pairs add to a model, whatever factors it is made of.
#pragma once

#include "base/error.h"
#include "compare/compared_model.h"
#include "model/model.h"

namespace modelutils {

/// Is it a LoRA adapter, as a GGUF file or as a directory of PEFT's or mlx-lm's?
bool is_adapter(const Model& model);

/// Puts the products scale × B·A of an adapter in the place of its factors: one tensor for each pair, by the name of
/// the module or tensor that it is added to, of the shape of that ({in, out, experts}), with the rank as its type. What
/// is no factor stays. `model` must outlive the side. Errors: those of adapter/adapter.h; reading.
Status take_products(const Model& model, ComparedModel& side);

}  // namespace modelutils
