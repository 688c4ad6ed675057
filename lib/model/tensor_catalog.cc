#include "model/tensor_catalog.h"

#include <algorithm>

#include <fmt/core.h>
#include "base/checked_math.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// Bytes read at a time: stays in the second-level cache.
constexpr u64 window_bytes = 256 * 1024;

}  // namespace

const CatalogTensor* Catalog::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &CatalogTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

Status read_values(const Catalog& catalog, const CatalogTensor& tensor, u64 first, std::span<float> out) {
  const auto refuse = [&](std::string message) {
    return input_error("tensor-no-decoder", std::move(message), at_tensor(tensor.name), {},
                       catalog.files[tensor.file].path);
  };
  if (!tensor.type || !has_decoder(*tensor.type)) {
    return refuse(fmt::format("values of type {} cannot be decoded",
                              tensor.type ? type_name(*tensor.type) : std::string_view("unknown")));
  }
  if (catalog.big_endian) return refuse("values of a big-endian file cannot be decoded");
  const TypeInfo& type = type_info(*tensor.type);
  if (first % type.block_elements != 0 || out.size() % type.block_elements != 0) {
    return internal_error("values must be read in whole blocks");
  }
  const u64 first_block = first / type.block_elements;
  u64 blocks = out.size() / type.block_elements;
  const auto begin = checked_mul(first_block, type.block_bytes);
  const auto size = checked_mul(blocks, type.block_bytes);
  if (!begin || !size || !fits(*begin, *size, tensor.bytes)) {
    return internal_error("the requested values lie outside the tensor");
  }
  u64 offset = tensor.offset + *begin;
  std::vector<std::byte> window;
  while (blocks != 0) {
    const u64 now = std::min<u64>(blocks, std::max<u64>(1, window_bytes / type.block_bytes));
    window.resize(now * type.block_bytes);
    MU_TRY(catalog.files[tensor.file].source->read_exact(offset, window));
    dequantize(*tensor.type, window, out.first(now * type.block_elements));
    out = out.subspan(now * type.block_elements);
    offset += window.size();
    blocks -= now;
  }
  return {};
}

Status read_value_range(const Catalog& catalog, const CatalogTensor& tensor, u64 first, std::span<float> out) {
  constexpr u64 piece_elements = 16 * 1024;  // 64 KiB of float32
  const u64 block = tensor.type ? type_info(*tensor.type).block_elements : 1;
  const u64 elements = checked_product(tensor.ne).value_or(0);
  if (!fits(first, out.size(), elements)) return internal_error("the requested values lie outside the tensor");
  std::vector<float> piece;
  while (!out.empty()) {
    const u64 begin = first - first % block;
    const u64 most = std::min<u64>(piece_elements - piece_elements % block, elements - begin);
    const u64 needed = std::min<u64>(most, first - begin + out.size());
    const u64 count = std::min<u64>(most, (needed + block - 1) / block * block);
    piece.resize(count);
    MU_TRY(read_values(catalog, tensor, begin, piece));
    const auto skip = static_cast<std::size_t>(first - begin);
    const std::size_t use = std::min<std::size_t>(out.size(), piece.size() - skip);
    std::copy_n(piece.begin() + static_cast<std::ptrdiff_t>(skip), use, out.begin());
    out = out.subspan(use);
    first += use;
  }
  return {};
}

}  // namespace modelutils
