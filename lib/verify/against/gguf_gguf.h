// verify --against SOURCE.gguf OUT.gguf: every tensor of a GGUF against that of another, of which it is a
// requantisation or an edited copy.
#pragma once

#include "rules/formats.h"

namespace modelutils {

/// The row of the table of parities. Findings as of compare_with_sources() (parity_tensors.h); a form is exact if the
/// type is that of the source, or F32. Keys are not compared. Errors: the source is broken.
Result<FindingLog> compare_gguf_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
