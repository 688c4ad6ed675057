// Reads rows of a mapped tensor that transposes its sources: per head, per expert, or as a whole.
#pragma once

#include "base/error.h"
#include "to_gguf/rows.h"

namespace modelutils {

/// Returns the element type of a transposed tensor's rows: the source's, or F32 if it is quantised.
TensorType values_type(const SourceMatrix& matrix);

/// Implements read_stored_rows() for transposed tensors: puts rows [first, first + count) into `out.values` as elements
/// of values_type(). Reads strips of source rows, so memory use does not grow with the source. Errors: those of
/// reading.
Status read_transposed_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out);

}  // namespace modelutils
