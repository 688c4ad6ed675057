// verify --against: the comparison of model-diff with strict verdicts. Tensors are compared under their GGUF names if
// either model is a GGUF, otherwise (safetensors, PyTorch checkpoints) under their own. docs/conversion.md and
// docs/gguf2mlx.md define the exact forms.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// Compares a converted model with its source. Findings, all with scope model: "parity-missing", "parity-extra",
/// "parity-shape", "parity-type" (errors); "parity-value" names the first differing value in a tensor whose form is
/// exact (error); "parity-inexact" gives the relative RMS error of the other tensors (a note up to 1 %, otherwise an
/// error). The output head of a tied model may be missing in a directory. Keys are not compared. Errors: the source is
/// broken, a directory cannot be mapped to GGUF tensors, reading.
Result<FindingLog> compare_models_strictly(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
