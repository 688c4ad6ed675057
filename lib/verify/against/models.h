// verify --against: model-diff's comparison judged strictly, of tensors under GGUF's names where one of the two is a
// GGUF, else (safetensors, PyTorch checkpoints) under their own. What is an exact form, docs/conversion.md and
// docs/gguf2mlx.md say.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// Compares a converted model with its source. Findings of scope model: "parity-missing",
/// "parity-extra", "parity-shape", "parity-type" (errors); "parity-value" names the first value that differs in a
/// tensor whose form is exact (error); "parity-inexact" gives the relative RMS error of the others (a note up to 1 %,
/// else an error). A head that only loaders want, of a tied model, may be missing in a directory. Keys are not
/// compared. Errors: the source is broken, a directory cannot be mapped to GGUF tensors, reading.
Result<FindingLog> compare_models_strictly(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
