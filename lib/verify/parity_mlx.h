// verify --against MODEL_DIR OUT.gguf: every tensor of a GGUF against the directory it was converted from, with names,
// permutation, stacking and norm shift undone.
#pragma once

#include "base/finding_log.h"
#include "verify/formats.h"

namespace modelutils {

/// The row of the table of parities. Findings of scope model and data: "parity-missing", "parity-extra",
/// "parity-shape", "parity-type" (errors); "parity-value" names the first value that differs in a tensor whose form is
/// exact (error); "parity-inexact" gives the relative RMS error of the others (a note up to 1 %, else an error).
Result<FindingLog> compare_with_mlx(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
