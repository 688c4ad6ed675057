#include "compare/low_rank.h"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace modelutils {

namespace {

using Matrix = Eigen::MatrixXf;
using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Index = Eigen::Index;

constexpr Index oversampling = 8;  // additional directions beyond the rank, which improve accuracy
constexpr int power_steps = 2;     // power iterations, each of which sharpens the spectrum of those directions
constexpr Index rows_at_once = 256;

// Normally distributed numbers by SplitMix64 and Box-Muller. Those of the standard library differ between
// implementations.
class Gaussian {
 public:
  float next() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform()));
  }

 private:
  double uniform() {
    state_ += 0x9e3779b97f4a7c15U;
    u64 mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<double>((mixed ^ (mixed >> 31U)) >> 11U) * 0x1p-53;
  }
  u64 state_ = 38;
};

// Returns an orthonormal basis of the columns.
Matrix basis_of(const Matrix& columns) {
  const Eigen::HouseholderQR<Matrix> decomposed(columns);
  return decomposed.householderQ() * Matrix::Identity(columns.rows(), columns.cols());
}

}  // namespace

LowRank low_rank(std::span<const float> matrix, u64 rows, u64 columns, u64 rank) {
  const auto m = static_cast<Index>(rows);
  const auto n = static_cast<Index>(columns);
  const auto wanted = static_cast<Index>(rank);
  const Index least = std::min(m, n);
  const Index width = std::min(least, wanted + oversampling);
  const Eigen::Map<const Rows> d(matrix.data(), m, n);

  Matrix random(n, width);
  Gaussian gaussian;
  for (Index j = 0; j < width; ++j) {
    for (Index i = 0; i < n; ++i) random(i, j) = gaussian.next();
  }
  Matrix left = basis_of(d * random);
  for (int step = 0; step < power_steps; ++step) {
    const Matrix right = basis_of(d.transpose() * left);
    left = basis_of(d * right);
  }
  // D ≈ Q·(QᵀD). The small matrix is decomposed through a basis of its own: (DᵀQ) = P·R, R = U·S·Vᵀ.
  const Matrix projected = d.transpose() * left;
  const Eigen::HouseholderQR<Matrix> decomposed(projected);
  const Matrix p = decomposed.householderQ() * Matrix::Identity(n, width);
  const Matrix r = decomposed.matrixQR().topRows(width).triangularView<Eigen::Upper>();
  const Eigen::JacobiSVD<Matrix, Eigen::NoQRPreconditioner> values(r, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Index kept = std::min(wanted, width);

  LowRank result;
  result.a.resize(static_cast<std::size_t>(rank * columns));
  result.b.resize(static_cast<std::size_t>(rows * rank));
  Eigen::Map<Rows> a(result.a.data(), wanted, n);
  Eigen::Map<Rows> b(result.b.data(), m, wanted);
  const Eigen::VectorXf roots = values.singularValues().head(kept).cwiseSqrt();
  a.topRows(kept) = roots.asDiagonal() * (p * values.matrixU().leftCols(kept)).transpose();
  b.leftCols(kept) = left * values.matrixV().leftCols(kept) * roots.asDiagonal();

  double lost = 0;
  double all = 0;
  Rows rest;
  for (Index first = 0; first < m; first += rows_at_once) {
    const Index count = std::min(rows_at_once, m - first);
    rest.noalias() = d.middleRows(first, count) - b.middleRows(first, count) * a;
    for (Index i = 0; i < count; ++i) {
      lost += static_cast<double>(rest.row(i).squaredNorm());
      all += static_cast<double>(d.row(first + i).squaredNorm());
    }
  }
  result.error = all == 0 ? 0 : std::sqrt(lost / all);
  result.squares = all;
  result.energy = std::max(0.0, 1 - result.error * result.error);
  return result;
}

}  // namespace modelutils
