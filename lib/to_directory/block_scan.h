// Updates the facts of block_facts.h from pieces of tensors.
#pragma once

#include <span>

#include "base/types.h"
#include "tensor/types.h"
#include "to_directory/block_facts.h"

namespace modelutils {

/// Adds to `facts` whether the values are finite and which types hold them exactly.
void scan_values(std::span<const float> values, BlockFacts& facts);

/// Scans whole rows of `columns` elements, of a type that has an exact form.
void scan_blocks(TensorType type, u64 columns, Bytes rows, bool with_errors, BlockFacts& facts);

/// Adds the errors the values would have in F16, in BF16 and as searched 8-bit codes with scales of type `scales`. The
/// values are whole groups of 32.
void measure_forms(std::span<const float> values, TensorType scales, BlockFacts& facts);

}  // namespace modelutils
