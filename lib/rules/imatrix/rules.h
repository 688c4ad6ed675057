// The rules of importance matrices of the format before GGUF. Reading one checks its structure
// (quantize/importance.h); here is what else there is to say.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// Codes: "imatrix-calls", and those of the data.
Result<CheckedModel> check_imatrix(const Model& model, unsigned threads = 1);

}  // namespace modelutils
