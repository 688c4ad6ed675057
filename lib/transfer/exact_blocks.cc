#include "transfer/exact_blocks.h"

#include <cstring>
#include <vector>

#include "tensor/dequantize.h"

namespace modelutils {

namespace {

constexpr std::size_t half_block = 16;  // in 16 bytes, low nibbles are elements 0 to 15, high ones 16 to 31

std::byte without_bias(unsigned code, int bias) {
  return static_cast<std::byte>(static_cast<i8>(static_cast<int>(code) - bias));
}

// Converts (d, 16 bytes of nibbles) to (d, 32 codes).
void q4_0_to_q8_0(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 2);
  for (std::size_t i = 0; i < half_block; ++i) {
    const unsigned nibbles = std::to_integer<unsigned>(from[2 + i]);
    to[2 + i] = without_bias(nibbles & 15, 8);
    to[2 + half_block + i] = without_bias(nibbles >> 4, 8);
  }
}

// Converts (d, 32 fifth bits, 16 bytes of nibbles) to (d, 32 codes).
void q5_0_to_q8_0(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 2);
  u32 fifth = 0;
  std::memcpy(&fifth, from + 2, 4);
  for (std::size_t i = 0; i < half_block; ++i) {
    const unsigned nibbles = std::to_integer<unsigned>(from[6 + i]);
    to[2 + i] = without_bias((nibbles & 15) | (fifth >> i & 1) << 4, 16);
    to[2 + half_block + i] = without_bias(nibbles >> 4 | (fifth >> (i + half_block) & 1) << 4, 16);
  }
}

// Converts (d, m, nibbles) to (d, m, 32 fifth bits, nibbles).
void q4_1_to_q5_1(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 4);
  std::memset(to + 4, 0, 4);
  std::memcpy(to + 8, from + 4, half_block);
}

}  // namespace

BlockConversion conversion_of(TensorType from, TensorType to) {
  const TypeInfo& type = type_info(from);
  if (to == TensorType::F32) return {type.block_bytes, type.block_elements * 4};
  return {type.block_bytes, type_info(to).block_bytes};
}

void convert_blocks(TensorType from, TensorType to, Bytes source, MutableBytes out) {
  if (to == TensorType::F32) {
    // The output may be unaligned, so decode into a buffer.
    std::vector<float> values(out.size() / 4);
    dequantize(from, source, values);
    std::memcpy(out.data(), values.data(), values.size() * 4);
    return;
  }
  const auto convert = to == TensorType::Q5_1 ? q4_1_to_q5_1 : from == TensorType::Q4_0 ? q4_0_to_q8_0 : q5_0_to_q8_0;
  const BlockConversion sizes = conversion_of(from, to);
  const std::size_t count = out.size() / sizes.to_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    convert(source.data() + i * sizes.from_bytes, out.data() + i * sizes.to_bytes);
  }
}

}  // namespace modelutils
