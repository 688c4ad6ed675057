// K blocks: 256 elements, scales of scales (docs/formats/blocks.md, section 4).
#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/half.h"

namespace modelutils::decode {
namespace {

float half_at(const u8* at) {
  return f16_to_f32(load<u16>(at));
}

// Element i of 64 bytes: each half holds 128 elements as four 2-bit planes of 32.
int two_bits(const u8* codes, u32 i) {
  return codes[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32)) & 3;
}

// Element i of 128 bytes: 32 bytes hold 64 elements, low nibbles first.
int four_bits(const u8* codes, u32 i) {
  return codes[32 * (i / 64) + i % 32] >> (4 * (i / 32 % 2)) & 15;
}

// The k-th of the eight pairs of 6-bit numbers in the 12 bytes of Q4_K and Q5_K.
struct ScaleAndMin {
  int scale;
  int min;
};
ScaleAndMin scale_and_min(const u8* packed, u32 k) {
  if (k < 4) return {packed[k] & 63, packed[k + 4] & 63};
  return {(packed[k + 4] & 15) | packed[k - 4] >> 6 << 4, packed[k + 4] >> 4 | packed[k] >> 6 << 4};
}

}  // namespace

void q2_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q2_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 80);
    const float dmin = half_at(block + 82);
    for (u32 part = 0; part < 16; ++part) {
      const float dl = d * static_cast<float>(block[part] & 15);
      const float ml = dmin * static_cast<float>(block[part] >> 4);
      for (u32 i = 16 * part; i < 16 * part + 16; ++i) y[i] = dl * static_cast<float>(two_bits(block + 16, i)) - ml;
    }
  });
}

void q3_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q3_K, in, out, blocks, [](const u8* block, float* y) {
    const u8* scales = block + 96;
    const float d = half_at(block + 108);
    for (u32 k = 0; k < 16; ++k) {
      const int low = scales[k % 8] >> (4 * (k / 8)) & 15;
      const int high = scales[8 + k % 4] >> (2 * (k / 4)) & 3;
      const float dl = d * static_cast<float>((low | high << 4) - 32);
      for (u32 i = 16 * k; i < 16 * k + 16; ++i) {
        const bool third_bit = (block[i % 32] >> (i / 32) & 1) != 0;  // a clear bit subtracts 4
        y[i] = dl * static_cast<float>(two_bits(block + 32, i) - (third_bit ? 0 : 4));
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
      for (u32 i = 32 * k; i < 32 * k + 32; ++i) y[i] = dl * static_cast<float>(four_bits(block + 16, i)) - ml;
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
      for (u32 i = 32 * k; i < 32 * k + 32; ++i) {
        const int fifth_bit = block[16 + i % 32] >> k & 1;
        y[i] = dl * static_cast<float>(four_bits(block + 48, i) + 16 * fifth_bit) - ml;
      }
    }
  });
}

void q6_k(const u8* in, float* out, std::size_t blocks) {
  for_blocks(TensorType::Q6_K, in, out, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 208);
    for (u32 k = 0; k < 16; ++k) {
      const float dl = d * static_cast<float>(load<i8>(block + 192 + k));
      for (u32 i = 16 * k; i < 16 * k + 16; ++i) {
        const u32 plane = i % 128 / 32;
        const int low = block[64 * (i / 128) + 32 * (plane % 2) + i % 32] >> (4 * (plane / 2)) & 15;
        y[i] = dl * static_cast<float>((low | two_bits(block + 128, i) << 4) - 32);
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
