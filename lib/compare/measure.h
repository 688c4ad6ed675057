// Measures the differences between tensors' values, for model-diff --data and verify --against.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/standard_output.h"
#include "model/forms/modules.h"
#include "tensor/value_sums.h"

namespace modelutils {

// The measurement of one piece of two tensors: sums, the first difference, the rows with the largest errors.

/// The index of a row of ne0 elements in the whole tensor, and its relative RMS error.
struct RowError {
  u64 row = 0;
  double rms = 0;
};

/// Keeps the three rows with the largest errors, the worst first.
void keep_worst_rows(std::vector<RowError>& rows);

/// Measures one piece, which arrives in parts of any length, in order. Counts and the largest difference do not depend
/// on how it is divided; the other sums are sums of floats (convert/transfer/report.h), which do.
class PieceSums {
 public:
  /// `begin` is the index of the piece's first element. `columns` is the row length if the piece consists of whole
  /// rows, otherwise 0. `largest` is a difference known from other pieces; sums().max_abs need not be exact below it.
  PieceSums(u64 begin, u64 columns, double largest) : begin_(begin), columns_(columns), row_start_(begin) {
    sums_.max_abs = largest;
  }

  /// Adds the next values of both sides, equally many.
  void add(std::span<const float> a, std::span<const float> b);
  /// Call once, after the last add().
  void finish();

  const ValueSums& sums() const { return sums_; }
  /// The index in the tensor of the first differing element, and its values. Valid if sums().different > 0.
  u64 first() const { return first_; }
  float first_a() const { return first_a_; }
  float first_b() const { return first_b_; }
  /// The rows with the largest errors, without rows that are equal.
  const std::vector<RowError>& worst_rows() const { return worst_; }

 private:
  void end_row();

  u64 begin_;  // index of the next element
  u64 columns_;
  u64 row_start_;
  ValueSums sums_;
  ValueSums row_;
  u64 first_ = 0;
  float first_a_ = 0;
  float first_b_ = 0;
  std::vector<RowError> worst_;
};

/// Two tensors with equally many elements.
struct ValuePair {
  std::unique_ptr<TensorValues> a, b;
  u64 columns = 1;  ///< row length, for the worst rows
};

struct Measurement {
  u64 elements = 0;
  bool equal_bytes = false;  ///< same form and equal bytes, so nothing was decoded
  bool decoded = false;      ///< the members below are valid; false if the bytes are equal
  ValueSums sums = {};
  u64 first = 0;  ///< index of the first differing element, if sums.different > 0
  float first_a = 0;
  float first_b = 0;
  std::vector<RowError> worst = {};  ///< at most 3 rows with the largest errors; none if rows are longer than a piece
  std::string problem = {};          ///< why there is no measurement
  std::shared_ptr<const Error> error = {};  ///< the cause of `problem`, if reading failed

  bool equal_values() const { return equal_bytes || (decoded && sums.different == 0); }
};

struct MeasureOptions {
  unsigned threads = 1;
  Progress* progress = nullptr;  ///< counts the bytes of both sides
};

/// The measurements of numbered pairs. All pairs with equal bytes share one, whose `elements` is 0.
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
  std::deque<Measurement> different_;  // a deque, so that pointers to elements stay valid
};

/// Measures pairs 0, 1, … in order and passes each result to `take`. Memory: a few MiB plus a few per thread, whatever
/// the number and size of the tensors. The result does not depend on the number of threads.
void measure(std::size_t pairs, const std::function<ValuePair(std::size_t pair)>& pair_of,
             const MeasureOptions& options, const std::function<void(std::size_t pair, Measurement measured)>& take);

}  // namespace modelutils
