// The tensors of a GGUF model, in one file or split, as a catalog.
#pragma once

#include "gguf/split_set.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// Every tensor whose type and size are known and whose bytes lie inside its file; what is left out is for the rules to
/// say (verify/gguf_rules.h). Order: file by file, as the tensor infos stand.
Catalog gguf_catalog(const gguf::SplitSet& set);

}  // namespace modelutils
