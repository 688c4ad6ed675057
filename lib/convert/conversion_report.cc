#include "convert/conversion_report.h"

#include <algorithm>
#include <cmath>

namespace modelutils::convert {

void MeasuredError::add(const MeasuredError& other) {
  squared_error += other.squared_error;
  squared_value += other.squared_value;
  max_abs = std::max(max_abs, other.max_abs);
}

double MeasuredError::relative_rms() const {
  if (squared_error == 0) return 0;
  return squared_value > 0 ? std::sqrt(squared_error / squared_value) : HUGE_VAL;
}

u64 ConversionReport::inexact_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const TensorReport& tensor) { return tensor.exact == false; }));
}

u64 ConversionReport::unmeasured_tensors() const {
  return static_cast<u64>(
      std::count_if(tensors.begin(), tensors.end(), [](const TensorReport& tensor) { return !tensor.exact; }));
}

u64 ConversionReport::bytes() const {
  u64 sum = 0;
  for (const OutputFile& file : files) sum += file.bytes;
  return sum;
}

}  // namespace modelutils::convert
