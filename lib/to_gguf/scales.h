// Analyses all scales and biases of a mapped tensor, piece by piece.
#pragma once

#include "base/error.h"
#include "model/hf_model.h"
#include "to_gguf/tensor_map.h"
#include "transfer/carriers.h"

namespace modelutils {

/// Adds all scales and biases of a tensor with quantised parts to `analysis`. `with_codes` also reads the weights, for
/// forms in which all-zero groups do not count. Errors: those of reading.
Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis);

}  // namespace modelutils
