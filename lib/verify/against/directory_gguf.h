// verify --against MODEL.gguf DIR: every tensor of a directory against the GGUF it was converted from, with names,
// permutation, stacking and norm shift undone.
#pragma once

#include "base/finding_log.h"
#include "rules/formats.h"

namespace modelutils {

/// The row of the table of parities. Findings as of compare_with_sources() (parity_tensors.h), by the names of the
/// GGUF. Plain matrices hold what their type holds; packed ones are exact where they have the form of the block type
/// and their scales hold every scale (docs/gguf2mlx.md). A head that only loaders want, of a tied model, may be
/// missing. Errors: the directory cannot be mapped to GGUF tensors, the source is broken.
Result<FindingLog> compare_directory_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
