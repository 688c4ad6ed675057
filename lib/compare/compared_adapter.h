// Adapters as sides of a comparison: compares the products of their pairs instead of the factors.
#pragma once

#include "base/error.h"
#include "compare/compared_model.h"
#include "model/model.h"

namespace modelutils {

/// True for a LoRA adapter: a GGUF file, or a directory of PEFT or mlx-lm.
bool is_adapter(const Model& model);

/// Replaces an adapter's factors by their products scale × B·A: one tensor per pair, named after the adapted module or
/// tensor, with its shape ({in, out, experts}) and the rank as its type. Other tensors stay. `model` must outlive the
/// side. Errors: those of adapter/adapter.h; reading.
Status take_products(const Model& model, ComparedModel& side);

}  // namespace modelutils
