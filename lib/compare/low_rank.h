// Low-rank approximation of a matrix as a product of two thin ones, by randomised singular value decomposition (Halko,
// Martinsson, Tropp 2011, algorithms 4.4 and 5.1).
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace modelutils {

struct LowRank {
  std::vector<float> a;  ///< [rank, columns]
  std::vector<float> b;  ///< [rows, rank]; B·A approximates the matrix; each has the roots of the singular values
  double error = 0;      ///< relative RMS error of B·A, measured over all elements
  double squares = 0;    ///< sum of the squares of the matrix
  double energy = 0;     ///< fraction of the matrix's sum of squares that B·A has: 1 − error²
};

/// `matrix` [rows, columns] must be finite and not all 0; `rank` must be at least 1. If the matrix has fewer rows or
/// columns than `rank`, the rest of the factors is 0. Deterministic: the random numbers have a fixed seed. Takes seven
/// passes over the matrix. Memory: a few multiples of (rank + 8) × (rows + columns).
LowRank low_rank(std::span<const float> matrix, u64 rows, u64 columns, u64 rank);

}  // namespace modelutils
