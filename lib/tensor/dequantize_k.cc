// K blocks: 256 elements, scales of scales (docs/formats/blocks.md, section 3).
#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/half.h"

namespace modelutils::decode {
namespace {

// The loops below process runs of elements that are adjacent in the codes, so that they can be vectorised.
//
// The location of element i in 64 bytes of 2-bit codes. Each half holds 128 elements as four planes of 32.
struct Plane {
  const u8* codes;
  int shift;
};
Plane two_bits(const u8* codes, u32 i) {
  return {codes + 32 * (i / 128) + i % 32, static_cast<int>(2 * (i % 128 / 32))};
}

// Returns the location of element i in 128 bytes of 4-bit codes. 32 bytes hold 64 elements, low nibbles first.
Plane four_bits(const u8* codes, u32 i) {
  return {codes + 32 * (i / 64) + i % 32, static_cast<int>(4 * (i / 32 % 2))};
}

}  // namespace

void q2_k(const Blocks& blocks) {
  for_blocks(TensorType::Q2_K, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 80);
    const float dmin = half_at(block + 82);
    for (u32 part = 0; part < 16; ++part, y += 16) {
      const float dl = d * static_cast<float>(block[part] & 15);
      const float ml = dmin * static_cast<float>(block[part] >> 4);
      const Plane plane = two_bits(block + 16, 16 * part);
      for_16([&](u32 j) { y[j] = dl * static_cast<float>(plane.codes[j] >> plane.shift & 3) - ml; });
    }
  });
}

void q3_k(const Blocks& blocks) {
  for_blocks(TensorType::Q3_K, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 108);
    for (u32 k = 0; k < 16; ++k, y += 16) {
      const float dl = d * static_cast<float>(q3_k_scale(block + 96, k));
      const Plane plane = two_bits(block + 32, 16 * k);
      const u8* third_bits = block + 16 * (k % 2);  // a clear bit subtracts 4
      const int shift = static_cast<int>(k / 2);
      for_16([&](u32 j) {
        const int q = (plane.codes[j] >> plane.shift & 3) | (third_bits[j] >> shift & 1) << 2;
        y[j] = dl * static_cast<float>(q - 4);
      });
    }
  });
}

void q4_k(const Blocks& blocks) {
  for_blocks_in_vectors(TensorType::Q4_K, blocks, [](const u8* block, float* y, auto width) {
    const float d = half_at(block);
    const float dmin = half_at(block + 2);
    for (u32 k = 0; k < 8; k += 2, y += 64) {  // 32 bytes hold 64 elements, low nibbles first
      const ScaleAndMin low = scale_and_min(block + 4, k), high = scale_and_min(block + 4, k + 1);
      const float low_scale = d * static_cast<float>(low.scale), low_min = dmin * static_cast<float>(low.min);
      const float high_scale = d * static_cast<float>(high.scale), high_min = dmin * static_cast<float>(high.min);
      for_codes<u8>(
          width, block + 16 + 16 * k, 32, [&](u32 j, auto codes) __attribute__((always_inline)) {
            store(low_scale * as_floats(codes & 15) - low_min, y + j);
            store(high_scale * as_floats(codes >> 4) - high_min, y + j + 32);
          });
    }
  });
}

void q5_k(const Blocks& blocks) {
  for_blocks(TensorType::Q5_K, blocks, [](const u8* block, float* y) {
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

void q6_k(const Blocks& blocks) {
  for_blocks_in_vectors(TensorType::Q6_K, blocks, [](const u8* block, float* y, auto width) {
    // 128 elements are four runs of 32, which share 64 bytes of low nibbles and 32 bytes of high bit pairs.
    u8 codes[256];
    for (u32 half = 0; half < 2; ++half) {
      const u8* low = block + 64 * half;
      const u8* high = block + 128 + 32 * half;
      u8* to = codes + 128 * half;
      for (u32 j = 0; j < 32; ++j) {
        to[j] = static_cast<u8>((low[j] & 15) | (high[j] & 3) << 4);
        to[j + 32] = static_cast<u8>((low[j + 32] & 15) | (high[j] >> 2 & 3) << 4);
        to[j + 64] = static_cast<u8>(low[j] >> 4 | (high[j] >> 4 & 3) << 4);
        to[j + 96] = static_cast<u8>(low[j + 32] >> 4 | high[j] >> 6 << 4);
      }
    }
    const float d = half_at(block + 208);
    for (u32 k = 0; k < 16; ++k, y += 16) {
      const float dl = d * static_cast<float>(load<i8>(block + 192 + k));
      for_codes<u8>(
          width, codes + 16 * k,
          16, [&](u32 j, auto some) __attribute__((always_inline)) { store(dl * as_floats(some - 32), y + j); });
    }
  });
}

void q8_k(const Blocks& blocks) {
  for_blocks(TensorType::Q8_K, blocks, [](const u8* block, float* y) {
    const float d = load<float>(block);
    for (u32 i = 0; i < 256; ++i) y[i] = d * static_cast<float>(load<i8>(block + 4 + i));
  });
}

}  // namespace modelutils::decode
