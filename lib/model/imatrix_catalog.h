// The entries of an importance matrix of the format before GGUF as a catalog: each is a tensor of float32 sums.
#pragma once

#include "model/tensor_catalog.h"
#include "quantize/importance.h"

namespace modelutils {

Catalog imatrix_catalog(const quantize::ImportanceMatrix& matrix);

}  // namespace modelutils
