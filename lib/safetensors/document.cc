#include "safetensors/document.h"

#include "base/checked_math.h"

namespace modelutils::safetensors {

std::optional<u64> Tensor::elements() const {
  return checked_product(shape);
}

std::optional<u64> Tensor::expected_bytes() const {
  const std::optional<u64> count = elements();
  return type && count ? packed_bytes(*type, *count) : std::nullopt;
}

std::vector<u64> Tensor::ne() const {
  return {shape.rbegin(), shape.rend()};
}

std::optional<u64> Document::data_bytes() const {
  if (!file_size) return std::nullopt;
  return *file_size >= data_offset ? *file_size - data_offset : 0;
}

bool Document::holds(const Tensor& tensor) const {
  const std::optional<u64> data = data_bytes();
  return tensor.begin <= tensor.end && (!data || tensor.end <= *data);
}

const Tensor* Document::find(std::string_view tensor) const {
  if (names.size() != 0) {
    const std::optional<u32> place = names.find(tensor);
    return place ? &tensors[*place] : nullptr;
  }
  for (const Tensor& entry : tensors) {
    if (entry.name == tensor) return &entry;
  }
  return nullptr;
}

}  // namespace modelutils::safetensors
