#include "tensor/only_zeros.h"

#include <algorithm>
#include <array>

#include "tensor/dequantize.h"

namespace modelutils {

bool holds_only_zeros(TensorType type, Bytes blocks) {
  if (!has_decoder(type)) return false;
  const TypeInfo& info = type_info(type);
  std::array<float, 1024> values;  // room for several whole blocks: no type has more than 256 elements per block
  const std::size_t most = values.size() / info.block_elements * info.block_bytes;
  while (!blocks.empty()) {
    const Bytes piece = blocks.first(std::min(most, blocks.size()));
    const std::span<float> out = std::span(values).first(piece.size() / info.block_bytes * info.block_elements);
    dequantize(type, piece, out);
    if (!std::ranges::all_of(out, [](float value) { return value == 0; })) return false;
    blocks = blocks.subspan(piece.size());
  }
  return true;
}

}  // namespace modelutils
