// What gguf2bump remarks about a BUMPWGT5 file that the engine computes only in part, or that is not what the source
// is.
#pragma once

#include <string>
#include <vector>

#include "to_bump/v5_mapping.h"

namespace modelutils {

/// Adds the remarks: types that were exchanged, layers that the engine computes differently, merges and tokens that its
/// tokenizer cannot have. Source: docs/formats/bump5.md.
void add_bump5_notes(const Bump5Mapping& mapping, std::vector<std::string>& notes);

}  // namespace modelutils
