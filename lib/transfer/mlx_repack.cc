#include "transfer/mlx_repack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "mlx/dequantize.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "transfer/measure_error.h"
#include "transfer/q8_0_best.h"
#include "transfer/repack_blocks.h"

namespace modelutils::convert {
namespace {

// Elements that are decoded at a time, about: their float32 values stay in the first-level cache.
constexpr u64 decoded_elements = 4096;

void encode_floats(TensorType type, std::span<const float> values, std::byte* out) {
  if (type == TensorType::F32) {
    std::memcpy(out, values.data(), values.size_bytes());
    return;
  }
  const auto encode = [&](auto convert) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const u16 bits = convert(values[i]);
      std::memcpy(out + 2 * i, &bits, 2);
    }
  };
  if (type == TensorType::F16) {
    encode([](float value) { return f32_to_f16(value); });
  } else {
    encode([](float value) { return f32_to_bf16(value); });
  }
}

}  // namespace

void repack_rows(const MlxForm& form, const Target& target, Bytes codes, Bytes scales, Bytes biases, MutableBytes out,
                 MeasuredError* error) {
  if (target.recipe == Recipe::blocks) repack_blocks(form, target.type, codes, scales, biases, out);
  if (target.recipe == Recipe::blocks && error == nullptr) return;

  // Piece by piece, each of whole groups and whole blocks.
  const TypeInfo& info = type_info(target.type);
  const u64 group = form.params.group_size;
  const u64 unit = std::lcm(group, u64{info.block_elements});
  const u64 piece = unit * std::max<u64>(decoded_elements / unit, 1);
  const u64 elements = out.size() / info.block_bytes * info.block_elements;
  const u64 scale_size = type_info(form.scale_type).block_bytes;
  const u64 bias_size = biases.empty() ? 0 : type_info(form.bias_type).block_bytes;
  std::vector<float> exact(std::min(piece, elements));
  std::vector<float> carried(error != nullptr ? exact.size() : 0);
  for (u64 first = 0; first < elements; first += piece) {
    const u64 count = std::min(piece, elements - first);
    const u64 first_group = first / group;
    const u64 groups = count / group;
    const mlx::Groups source = {
        codes.subspan(first_group * form.params.group_bytes(), groups * form.params.group_bytes()), form.scale_type,
        scales.subspan(first_group * scale_size, groups * scale_size), form.bias_type,
        biases.subspan(first_group * bias_size, groups * bias_size)};
    const MutableBytes to =
        out.subspan(first / info.block_elements * info.block_bytes, count / info.block_elements * info.block_bytes);
    const std::span<float> values(exact.data(), count);
    mlx::dequantize(form.params, source, values);
    if (target.recipe == Recipe::decode) encode_floats(target.type, values, to.data());
    if (target.recipe == Recipe::q8_0_best)
      encode_q8_0_best(form, source.codes, source.scales, source.biases, values, to);
    if (error == nullptr) continue;
    const std::span<float> decoded(carried.data(), count);
    dequantize(target.type, to, decoded);
    measure(values, decoded, *error);
  }
}

}  // namespace modelutils::convert
