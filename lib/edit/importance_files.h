// The two formats of importance matrices as they are written: GGUF and the one before (.dat).
#pragma once

#include "edit/importance_merge.h"

namespace modelutils::edit {

/// Takes out what the older format cannot say: entries that were never used. Error: nothing is left.
Status drop_unused(ImportanceMerge& merge);

/// Bytes of the file. Errors: those of gguf::layout(); "imatrix-merge" for numbers that the older format cannot hold.
Result<u64> gguf_size(const ImportanceMerge& merge);
Result<u64> legacy_size(const ImportanceMerge& merge);

}  // namespace modelutils::edit
