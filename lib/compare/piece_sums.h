// What a piece of two tensors adds to their measurement: sums, the first difference, the rows with the largest errors.
#pragma once

#include <span>
#include <vector>

#include "transfer/value_sums.h"

namespace modelutils {

/// A row of ne0 elements, counted through the whole tensor, and its relative RMS error.
struct RowError {
  u64 row = 0;
  double rms = 0;
};

/// Leaves the three rows with the largest errors, the worst first.
void keep_worst_rows(std::vector<RowError>& rows);

/// Adds up a piece that is given in parts of any length, one after another. The parts make no difference to what is
/// counted and to the largest difference; the other sums are of floats (value_sums.h) and depend on them.
class PieceSums {
 public:
  /// `begin`: the piece's first element. `columns`: elements of a row, of which the piece has whole ones; 0 if it has
  /// none. `largest`: a difference known from other pieces, below which sums().max_abs need not be right.
  PieceSums(u64 begin, u64 columns, double largest) : begin_(begin), columns_(columns), row_start_(begin) {
    sums_.max_abs = largest;
  }

  /// The next values, as many of both.
  void add(std::span<const float> a, std::span<const float> b);
  /// To be called once, after the last of them.
  void finish();

  const ValueSums& sums() const { return sums_; }
  /// The element of the tensor that differs first, and its values; if sums().different > 0.
  u64 first() const { return first_; }
  float first_a() const { return first_a_; }
  float first_b() const { return first_b_; }
  /// Those with the largest errors. Equal ones are not among them.
  const std::vector<RowError>& worst_rows() const { return worst_; }

 private:
  void end_row();

  u64 begin_;  // of what comes next
  u64 columns_;
  u64 row_start_;
  ValueSums sums_;
  ValueSums row_;
  u64 first_ = 0;
  float first_a_ = 0;
  float first_b_ = 0;
  std::vector<RowError> worst_;
};

}  // namespace modelutils
