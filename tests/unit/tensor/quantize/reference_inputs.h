// Generates values and importance weights for encoder tests from integers and single float operations, so that they are
// the same on every machine.
#pragma once

#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::test {

/// Returns rows × cols values. Kinds: bell, heavy, wide, sparse, ties, zero, const, shifted, big, small, tiny.
std::vector<float> reference_values(std::string_view kind, u64 seed, u64 rows, u64 cols);

/// Returns `count` weights like an importance matrix: sums of the given kind (even, peaked, holes) divided by `ncall`.
std::vector<float> reference_weights(std::string_view kind, u64 seed, u64 count, u64 ncall);

}  // namespace modelutils::test
