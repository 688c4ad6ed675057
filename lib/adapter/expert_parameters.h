// PEFT's pairs for three-dimensional expert parameters (target_parameters).
#pragma once

#include "adapter/adapter.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "base/error.h"

namespace modelutils::adapter {

/// Renames the modules "….experts" and "….experts.base_layer" to the parameters that they change, which the shapes
/// determine, and gives their factors the strides of stacks of experts: A [E·r, in] has the experts' rows
/// consecutively, B [out, r·E] has their columns interleaved. PEFT before 0.19.1 swapped the two sides. Fails with
/// "adapter-pair" if the shapes match no parameter, or one in both orientations.
Status resolve_expert_parameters(Adapter& adapter, const arch::Names& names, const arch::Sizes& sizes);

}  // namespace modelutils::adapter
