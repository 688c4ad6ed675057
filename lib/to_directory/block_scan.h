// How the facts of block_facts.h are taken from pieces of tensors.
#pragma once

#include <span>

#include "base/types.h"
#include "tensor/types.h"
#include "to_directory/block_facts.h"

namespace modelutils {

/// Of values: are they finite, and what holds them?
void scan_values(std::span<const float> values, BlockFacts& facts);

/// Of whole rows of `columns` elements, of a type that has an exact form.
void scan_blocks(TensorType type, u64 columns, Bytes rows, bool with_errors, BlockFacts& facts);

/// What the values, whole groups of 32, would lose in F16, in BF16 and in the 8 bits that are searched, with scales of
/// the type `scales`.
void measure_forms(std::span<const float> values, TensorType scales, BlockFacts& facts);

}  // namespace modelutils
