#include "compare/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace modelutils {
namespace {

double distance(const LowRank& found, std::span<const float> matrix, u64 rows, u64 columns, u64 rank) {
  double squares = 0;
  for (u64 i = 0; i < rows; ++i) {
    for (u64 j = 0; j < columns; ++j) {
      double sum = 0;
      for (u64 k = 0; k < rank; ++k) sum += static_cast<double>(found.b[i * rank + k]) * found.a[k * columns + j];
      squares += (sum - matrix[i * columns + j]) * (sum - matrix[i * columns + j]);
    }
  }
  return std::sqrt(squares);
}

// Returns Σ s_k u_k v_kᵀ, where u and v are sines, which are orthogonal.
std::vector<float> matrix_of(u64 rows, u64 columns, const std::vector<double>& singular) {
  std::vector<float> values(rows * columns);
  const double pi = std::acos(-1.0);
  for (u64 i = 0; i < rows; ++i) {
    for (u64 j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < singular.size(); ++k) {
        const auto wave = static_cast<double>(k + 1);
        const double u = std::sin(pi * wave * static_cast<double>(i + 1) / static_cast<double>(rows + 1));
        const double v = std::sin(pi * wave * static_cast<double>(j + 1) / static_cast<double>(columns + 1));
        sum += singular[k] * u * v * 2 / std::sqrt(static_cast<double>((rows + 1) * (columns + 1)));
      }
      values[i * columns + j] = static_cast<float>(sum);
    }
  }
  return values;
}

TEST(LowRank, FindsTheSingularValuesThatThereAre) {
  const std::vector<float> matrix = matrix_of(60, 90, {8, 4, 2, 1});
  const LowRank whole = low_rank(matrix, 60, 90, 4);
  EXPECT_LT(whole.error, 1e-5);
  EXPECT_NEAR(whole.squares, 64 + 16 + 4 + 1, 1e-3);
  EXPECT_LT(distance(whole, matrix, 60, 90, 4), 1e-4);
  // The best approximation of rank 2 lacks the two smallest singular values.
  const LowRank half = low_rank(matrix, 60, 90, 2);
  EXPECT_NEAR(half.energy, 80.0 / 85, 1e-5);
  EXPECT_NEAR(half.error, std::sqrt(5.0 / 85), 1e-5);
  EXPECT_NEAR(distance(half, matrix, 60, 90, 2), std::sqrt(5.0), 1e-4);
}

TEST(LowRank, FillsFactorsUpWhereTheMatrixHasLess) {
  const std::vector<float> matrix = matrix_of(3, 20, {5, 1, 0.5});
  const LowRank found = low_rank(matrix, 3, 20, 8);
  ASSERT_EQ(found.a.size(), 8U * 20);
  ASSERT_EQ(found.b.size(), 3U * 8);
  EXPECT_LT(found.error, 1e-5);
  EXPECT_EQ(found.b[3], 0);
  EXPECT_EQ(found.a[7 * 20], 0);
}

TEST(LowRank, IsTheSameEachTime) {
  const std::vector<float> matrix = matrix_of(40, 30, {3, 2, 1, 0.5, 0.25});
  EXPECT_EQ(low_rank(matrix, 40, 30, 3).a, low_rank(matrix, 40, 30, 3).a);
}

}  // namespace
}  // namespace modelutils
