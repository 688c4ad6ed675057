// Rows of a mapped tensor that is the transpose of its sources: per head, per expert, or as a whole.
#pragma once

#include "base/error.h"
#include "to_gguf/rows.h"

namespace modelutils {

/// Type of the elements of a transposed tensor's rows: that of the source, F32 if it is quantised.
TensorType values_type(const SourceMatrix& matrix);

/// What read_stored_rows() does for a transposed tensor: rows [first, first + count) as elements of values_type() in
/// `out.values`. Reads strips of the sources' rows, so memory does not grow with them. Errors: reading.
Status read_transposed_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out);

}  // namespace modelutils
