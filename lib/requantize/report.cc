#include "requantize/report.h"

#include <algorithm>
#include <cmath>

namespace modelutils::requantize {

namespace {

double ratio_root(double error, double values) {
  if (error == 0) return 0;
  return values > 0 ? std::sqrt(error / values) : HUGE_VAL;
}

}  // namespace

void TensorError::add(const TensorError& other) {
  values2 += other.values2;
  carried2 += other.carried2;
  product += other.product;
  error2 += other.error2;
  max_abs = std::max(max_abs, other.max_abs);
  weighted_values2 += other.weighted_values2;
  weighted_error2 += other.weighted_error2;
}

double TensorError::relative_rms() const {
  return ratio_root(error2, values2);
}

double TensorError::weighted_relative_rms() const {
  return ratio_root(weighted_error2, weighted_values2);
}

double TensorError::cosine() const {
  const double size = std::sqrt(values2) * std::sqrt(carried2);
  if (size > 0) return product / size;
  return values2 == carried2 ? 1 : 0;
}

u64 QuantizeReport::bytes() const {
  u64 sum = 0;
  for (const QuantizedTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

u64 QuantizeReport::source_bytes() const {
  u64 sum = 0;
  for (const QuantizedTensor& tensor : tensors) sum += tensor.source_bytes;
  return sum;
}

u64 QuantizeReport::elements() const {
  u64 sum = 0;
  for (const QuantizedTensor& tensor : tensors) {
    u64 elements = 1;
    for (const u64 ne : tensor.ne) elements *= ne;
    sum += elements;
  }
  return sum;
}

std::vector<std::string> QuantizeReport::recipe() const {
  std::vector<std::string> lines;
  if (!mix.empty()) lines.push_back("type=" + mix);
  for (const QuantizedTensor& tensor : tensors) {
    const bool may_change = quantize::may_quantize({tensor.name, tensor.ne, tensor.type});
    if (!may_change) continue;
    std::string pattern;
    for (const char c : tensor.name) {
      if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
      pattern += c;
    }
    lines.push_back(pattern + '=' + std::string(type_name(tensor.type)));
  }
  return lines;
}

std::vector<std::size_t> QuantizeReport::worst_first() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].measured && !tensors[i].copied) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].error.relative_rms() > tensors[b].error.relative_rms();
  });
  return order;
}

}  // namespace modelutils::requantize
