// Adding a product of two thin matrices to rows of values: what merging spends its time with.
#pragma once

#include <span>

#include "base/instructions.h"
#include "base/types.h"

namespace modelutils::adapter {

/// values [rows, columns] += b [rows, rank] · a [rank, columns], each sum in the order of the ranks. The instructions
/// make no difference to the result.
void add_product(std::span<const float> a, std::span<const float> b, u64 rank, u64 columns, std::span<float> values,
                 Instructions instructions = best_instructions());

}  // namespace modelutils::adapter
