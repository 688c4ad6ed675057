// How far tensors are apart, value by value: what model-diff --data and verify --against measure.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/transfer/report.h"
#include "io/standard_output.h"
#include "model/forms/modules.h"

namespace modelutils {

// What a piece of two tensors adds to their measurement: sums, the first difference, the rows with the largest errors.

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

/// Two tensors of as many elements.
struct ValuePair {
  std::unique_ptr<TensorValues> a, b;
  u64 columns = 1;  ///< elements of a row, for the worst rows
};

struct Measurement {
  u64 elements = 0;
  bool equal_bytes = false;  ///< stored alike and equal byte for byte: nothing was decoded
  bool decoded = false;      ///< the rest is known; false for equal bytes, too
  ValueSums sums = {};
  u64 first = 0;  ///< element that differs first, if sums.different > 0
  float first_a = 0;
  float first_b = 0;
  std::vector<RowError> worst = {};  ///< rows with the largest errors, at most 3; none of rows longer than a piece
  std::string problem = {};          ///< why nothing is known
  std::shared_ptr<const Error> error = {};  ///< the same, where reading failed

  bool equal_values() const { return equal_bytes || (decoded && sums.different == 0); }
};

struct MeasureOptions {
  unsigned threads = 1;
  Progress* progress = nullptr;  ///< counts bytes of both sides
};

/// Measurements by number. Of pairs whose bytes are equal there is one for all of them, without `elements`.
class Measurements {
 public:
  void resize(std::size_t pairs) { places_.resize(pairs, &equal_); }
  void set(std::size_t pair, Measurement measured) {
    places_[pair] = measured.equal_bytes ? &equal_ : &different_.emplace_back(std::move(measured));
  }
  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  const Measurement& operator[](std::size_t pair) const { return *places_[pair]; }

 private:
  static const Measurement equal_;
  std::vector<const Measurement*> places_;
  std::deque<Measurement> different_;  // which stay where they are
};

/// Measures pairs number 0, 1, … in turn and hands over what was found. Memory: some MiB, and some for each thread,
/// whatever the tensors are and however many. The result does not depend on the number of threads.
void measure(std::size_t pairs, const std::function<ValuePair(std::size_t pair)>& pair_of,
             const MeasureOptions& options, const std::function<void(std::size_t pair, Measurement measured)>& take);

}  // namespace modelutils
