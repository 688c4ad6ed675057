#include "tensor/narrow.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "tensor/half_bits.h"

namespace modelutils {

void narrow(TensorType type, std::span<const float> values, std::byte* out) {
  if (type == TensorType::F32) {
    std::memcpy(out, values.data(), values.size() * 4);
  } else if (type == TensorType::F16) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const u16 bits = static_cast<u16>(f16_bits(values[i]));
      std::memcpy(out + 2 * i, &bits, 2);
    }
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const u16 bits = static_cast<u16>(bf16_bits(values[i]));
      std::memcpy(out + 2 * i, &bits, 2);
    }
  }
}

void round_to(TensorType type, std::span<float> values) {
  if (type == TensorType::F16) {
    for (float& value : values) value = f16_value<float>(f16_bits(value));
  } else if (type == TensorType::BF16) {
    for (float& value : values) value = std::bit_cast<float>(static_cast<u32>(bf16_bits(value)) << 16);
  }
}

NarrowFacts narrow_facts(std::span<const float> values) {
  i32 largest = 0;         // magnitude, infinity and NaN included
  i32 largest_finite = 0;  // as the bits of floats are in the order of their magnitudes
  i32 below_bf16 = 0;
  i32 below_f16 = 0;
  for (const float value : values) {
    const i32 bits = std::bit_cast<i32>(value);
    const i32 magnitude = bits & 0x7FFFFFFF;
    const i32 is_number = magnitude > 0x7F800000 ? 0 : -1;
    largest = magnitude > largest ? magnitude : largest;
    const i32 finite = magnitude < 0x7F800000 ? magnitude : 0;
    largest_finite = finite > largest_finite ? finite : largest_finite;
    below_bf16 |= bits & 0xFFFF & is_number;
    // Below 2^-14 F16 counts units of 2^-24, which is what the last bit of a sum with 0.5 is worth.
    const float size = std::bit_cast<float>(magnitude);
    const i32 of_units = std::bit_cast<i32>((size + 0.5f) - 0.5f) ^ magnitude;
    below_f16 |= (magnitude < 0x38800000 ? of_units : bits & 0x1FFF) & is_number;
  }
  NarrowFacts facts;
  facts.finite = largest < 0x7F800000;
  facts.f16_overflows = largest_finite >= 0x477FF000;  // 65520 rounds to 65536
  facts.fits_bf16 = below_bf16 == 0;
  facts.fits_f16 = below_f16 == 0 && largest_finite <= 0x477FE000;  // 65504
  return facts;
}

}  // namespace modelutils
