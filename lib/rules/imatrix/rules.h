// The rules for importance matrices in the format before GGUF, beyond the structure that reading one checks
// (formats/imatrix/importance.h).
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// Checks an importance matrix. Codes: "imatrix-calls", and those of data checks.
Result<CheckedModel> check_imatrix(const Model& model, unsigned threads = 1);

}  // namespace modelutils
