// Compares matrices that may be stored in different types.
#pragma once

#include "base/error.h"
#include "forms/stored_form.h"

namespace modelutils {

/// True if both matrices have the same values in the same order. Decodes them up to the first difference; NaN equals
/// nothing. Errors: those of reading; "tensor-no-decoder".
Result<bool> same_values(const StoredMatrix& a, const StoredMatrix& b);

}  // namespace modelutils
