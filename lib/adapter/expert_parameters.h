// PEFT's pairs on the three-dimensional parameters of experts (target_parameters).
#pragma once

#include "adapter/adapter.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "base/error.h"

namespace modelutils::adapter {

/// Gives the modules "….experts" and "….experts.base_layer" the names of the parameters that they are pairs on, told by
/// their shapes, and their factors the strides of stacks of experts: A [E·r, in] has the experts' rows one after
/// another, B [out, r·E] has the experts' columns in turn. Until PEFT 0.19.1 the two sides were exchanged. Errors:
/// "adapter-pair" where the shapes fit no parameter, or one in both ways.
Status resolve_expert_parameters(Adapter& adapter, const arch::Names& names, const arch::Sizes& sizes);

}  // namespace modelutils::adapter
