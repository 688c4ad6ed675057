// How far tensors are apart, value by value: what model-diff --data and verify --against measure.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/piece_sums.h"
#include "forms/tensor_values.h"
#include "io/progress.h"
#include "transfer/value_sums.h"

namespace modelutils {

/// Two tensors of as many elements.
struct ValuePair {
  const std::function<std::unique_ptr<TensorValues>()>* a = nullptr;
  const std::function<std::unique_ptr<TensorValues>()>* b = nullptr;
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
