// K blocks: 256 elements, scales of scales (docs/formats/blocks.md, section 3).
#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/block_fields.h"
#include "tensor/half.h"

namespace modelutils::decode {
namespace {

// The loops below work on runs of elements that lie side by side in the codes, so that they can be vectorised. Element
// i of 64 bytes of 2-bit codes: each half holds 128 elements as four planes of 32.
struct Plane {
  const u8* codes;
  int shift;
};
Plane two_bits(const u8* codes, u32 i) {
  return {codes + 32 * (i / 128) + i % 32, static_cast<int>(2 * (i % 128 / 32))};
}

// Element i of 128 bytes of 4-bit codes: 32 bytes hold 64 elements, low nibbles first.
Plane four_bits(const u8* codes, u32 i) {
  return {codes + 32 * (i / 64) + i % 32, static_cast<int>(4 * (i / 32 % 2))};
}

}  // namespace

void q2_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q2_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 80);
    const float dmin = half_at(block + 82);
    for (u32 part = 0; part < 16; ++part) {
      const float dl = d * static_cast<float>(block[part] & 15);
      const float ml = dmin * static_cast<float>(block[part] >> 4);
      const Plane plane = two_bits(block + 16, 16 * part);
      for (u32 j = 0; j < 16; ++j, ++y) *y = dl * static_cast<float>(plane.codes[j] >> plane.shift & 3) - ml;
    }
  });
}

void q3_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q3_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 108);
    for (u32 k = 0; k < 16; ++k) {
      const float dl = d * static_cast<float>(q3_k_scale(block + 96, k));
      const Plane plane = two_bits(block + 32, 16 * k);
      const u8* third_bits = block + 16 * (k % 2);  // a clear bit subtracts 4
      const int shift = static_cast<int>(k / 2);
      for (u32 j = 0; j < 16; ++j, ++y) {
        const int q = (plane.codes[j] >> plane.shift & 3) | (third_bits[j] >> shift & 1) << 2;
        *y = dl * static_cast<float>(q - 4);
      }
    }
  });
}

void q4_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q4_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    const float dmin = half_at(block + 2);
    for (u32 k = 0; k < 8; ++k) {
      const ScaleAndMin pair = scale_and_min(block + 4, k);
      const float dl = d * static_cast<float>(pair.scale);
      const float ml = dmin * static_cast<float>(pair.min);
      const Plane plane = four_bits(block + 16, 32 * k);
      for (u32 j = 0; j < 32; ++j, ++y) *y = dl * static_cast<float>(plane.codes[j] >> plane.shift & 15) - ml;
    }
  });
}

void q5_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q5_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    const float dmin = half_at(block + 2);
    for (u32 k = 0; k < 8; ++k) {
      const ScaleAndMin pair = scale_and_min(block + 4, k);
      const float dl = d * static_cast<float>(pair.scale);
      const float ml = dmin * static_cast<float>(pair.min);
      const Plane plane = four_bits(block + 48, 32 * k);
      const u8* fifth_bits = block + 16;
      const int shift = static_cast<int>(k);
      for (u32 j = 0; j < 32; ++j, ++y) {
        const int q = (plane.codes[j] >> plane.shift & 15) | (fifth_bits[j] >> shift & 1) << 4;
        *y = dl * static_cast<float>(q) - ml;
      }
    }
  });
}

void q6_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q6_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 208);
    for (u32 k = 0; k < 16; ++k) {
      const float dl = d * static_cast<float>(load<i8>(block + 192 + k));
      const u32 i = 16 * k;
      const u32 quarter = i % 128 / 32;  // its low bits are in one of two runs of 32 bytes, low or high nibbles
      const u8* low = block + 64 * (i / 128) + 32 * (quarter % 2) + i % 32;
      const int low_shift = static_cast<int>(4 * (quarter / 2));
      const Plane high = two_bits(block + 128, i);
      for (u32 j = 0; j < 16; ++j, ++y) {
        const int q = (low[j] >> low_shift & 15) | (high.codes[j] >> high.shift & 3) << 4;
        *y = dl * static_cast<float>(q - 32);
      }
    }
  });
}

void q8_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q8_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = load<float>(block);
    for (u32 i = 0; i < 256; ++i) y[i] = d * static_cast<float>(load<i8>(block + 4 + i));
  });
}

}  // namespace modelutils::decode
