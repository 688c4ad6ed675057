// verify --against MODEL_DIR OUT.gguf: every tensor of a GGUF against the directory it was converted from, with names,
// permutation, stacking and norm shift undone.
#pragma once

#include "base/finding_log.h"
#include "rules/formats.h"

namespace modelutils {

/// The row of the table of parities. Findings as of compare_with_sources() (parity_tensors.h); what is an exact form,
/// docs/conversion.md says. Errors: the source cannot be mapped to GGUF tensors.
Result<FindingLog> compare_with_mlx(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
