// A look at all scales and biases of a mapped tensor, in pieces.
#pragma once

#include "base/error.h"
#include "model/hf_model.h"
#include "to_gguf/tensor_map.h"
#include "transfer/carriers.h"

namespace modelutils {

/// Adds what all scales and biases of a tensor tell, whose parts are quantised. `with_codes` reads the weights, too,
/// for forms where groups of zeros do not count. Errors: reading.
Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis);

}  // namespace modelutils
