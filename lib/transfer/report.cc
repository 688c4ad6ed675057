#include "transfer/report.h"

#include <algorithm>
#include <cmath>

#include "transfer/value_sums.h"

namespace modelutils {

void MeasuredError::add(const MeasuredError& other) {
  squared_error += other.squared_error;
  squared_value += other.squared_value;
  max_abs = std::max(max_abs, other.max_abs);
}

double MeasuredError::relative_rms() const {
  if (squared_error == 0) return 0;
  return squared_value > 0 ? std::sqrt(squared_error / squared_value) : HUGE_VAL;
}

u64 TransferReport::inexact_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const TensorReport& tensor) { return tensor.exact == false; }));
}

u64 TransferReport::unmeasured_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const TensorReport& tensor) { return !tensor.exact; }));
}

u64 TransferReport::bytes() const {
  u64 sum = 0;
  for (const OutputFile& file : files) sum += file.bytes;
  return sum;
}

void measure(std::span<const float> exact, std::span<const float> carried, MeasuredError& error) {
  const ValueSums sums = error_sums_of(exact, carried, error.max_abs);
  const bool is_lost = sums.unordered > 0;  // NaN or infinite on one side alone
  error.squared_value += sums.aa;
  error.squared_error += is_lost ? HUGE_VAL : sums.dd;
  error.max_abs = std::max(error.max_abs, is_lost ? HUGE_VAL : sums.max_abs);
}

}  // namespace modelutils
