#include "tensor/shape.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/numbers.h"

namespace modelutils {

std::optional<u64> element_count(std::span<const u64> dims) {
  return checked_product(dims);
}

std::optional<u64> tensor_bytes(TensorType type, std::span<const u64> ne) {
  const auto row = row_bytes(type, ne.empty() ? 1 : ne.front());
  if (!row) return std::nullopt;
  u64 size = *row;
  for (u64 dim : ne.empty() ? ne : ne.subspan(1)) {
    const auto product = checked_mul(size, dim);
    if (!product || *product > u64{INT64_MAX}) return std::nullopt;
    size = *product;
  }
  // The element count must not overflow either: with types below one byte per element the size can fit although it
  // does.
  if (!element_count(ne)) return std::nullopt;
  return size;
}

std::vector<u64> reversed(std::span<const u64> dims) {
  return {dims.rbegin(), dims.rend()};
}

bool is_same_shape(std::span<const u64> a, std::span<const u64> b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if ((i < a.size() ? a[i] : 1) != (i < b.size() ? b[i] : 1)) return false;
  }
  return true;
}

void append_shape_text(std::string& out, std::span<const u64> dims) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += " × ";
    append_number(out, dims[i]);
  }
}

std::string shape_text(std::span<const u64> dims) {
  std::string out;
  append_shape_text(out, dims);
  return out;
}

}  // namespace modelutils
