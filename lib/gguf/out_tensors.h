// A view over tensors to be written, so that headers with hundreds of thousands of them need no copy of each.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/write.h"

namespace modelutils::gguf {

/// A tensor to be written. The caller keeps the name and dimensions alive.
struct OutTensorView {
  std::string_view name;
  TensorType type = TensorType::F32;
  std::span<const u64> ne;
};
inline OutTensorView view_of(const OutTensor& tensor) {
  return {tensor.name, tensor.type, tensor.ne};
}

/// Tensors 0 … count - 1, produced one at a time: there may be hundreds of thousands.
class OutTensors {
 public:
  OutTensors(std::size_t count, std::function<OutTensorView(std::size_t number)> at)
      : count_(count), at_(std::move(at)) {}
  std::size_t size() const { return count_; }
  OutTensorView operator[](std::size_t number) const { return at_(number); }

 private:
  std::size_t count_;
  std::function<OutTensorView(std::size_t number)> at_;
};

/// Like header_bytes() in gguf/write.h, without a vector of tensors.
u64 header_bytes(const std::vector<OutKey>& keys, const OutTensors& tensors);
Result<OutLayout> layout(const std::vector<OutKey>& keys, const OutTensors& tensors, u64 alignment, u32 version);

}  // namespace modelutils::gguf
