#include "requantize/report.h"

#include <algorithm>

namespace modelutils::requantize {

void TensorError::add(const TensorError& other) {
  plain.add(other.plain);
  weighted.add(other.weighted);
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
    return tensors[a].error.plain.rms() > tensors[b].error.plain.rms();
  });
  return order;
}

}  // namespace modelutils::requantize
