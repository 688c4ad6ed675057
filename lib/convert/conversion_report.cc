#include "convert/conversion_report.h"

#include <algorithm>
#include <cmath>

#include "convert/measure_error.h"

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

void measure(std::span<const float> exact, std::span<const float> carried, MeasuredError& error) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double value = exact[i];
    const double difference = static_cast<double>(carried[i]) - value;
    error.squared_value += value * value;
    if (difference == 0 || (exact[i] == carried[i]) || (std::isnan(exact[i]) && std::isnan(carried[i]))) continue;
    error.squared_error += difference * difference;
    error.max_abs = std::max(error.max_abs, std::isnan(difference) ? HUGE_VAL : std::abs(difference));
  }
}

}  // namespace modelutils::convert
