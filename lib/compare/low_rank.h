// The best product of two thin matrices for a given one: a randomised singular value decomposition (Halko, Martinsson,
// Tropp 2011, algorithms 4.4 and 5.1).
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace modelutils {

struct LowRank {
  std::vector<float> a;  ///< [rank, columns]
  std::vector<float> b;  ///< [rows, rank]; B·A is the matrix, about. Both have the roots of the singular values.
  double error = 0;      ///< relative RMS of what B·A lacks, measured over all elements
  double squares = 0;    ///< sum of the squares of the matrix
  double energy = 0;     ///< of the sum of squares of the matrix, the part that B·A has: 1 − error²
};

/// `matrix`: [rows, columns], finite, not all 0; `rank` from 1 on. Where the matrix has fewer rows or columns than
/// `rank`, the rest of the factors is 0. The same for the same matrix: the random numbers have a fixed seed. Passes
/// over the matrix: seven. Memory: some multiples of (rank + 8) × (rows + columns).
LowRank low_rank(std::span<const float> matrix, u64 rows, u64 columns, u64 rank);

}  // namespace modelutils
