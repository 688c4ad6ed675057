// Blocks with one level of scales (docs/formats/blocks.md, section 3).
#include <array>

#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/codebooks.h"
#include "tensor/half.h"

namespace modelutils::decode {
namespace {

// Calls body(i, code) for the 32 codes in 16 bytes: low nibbles are elements 0 … 15, high nibbles 16 … 31.
template <typename Body>
void for_nibbles(const u8* codes, const Body& body) {
  for_16([&](u32 i) { body(i, codes[i] & 15); });
  for_16([&](u32 i) { body(i + 16, codes[i] >> 4); });
}

// The FP4 values, doubled. Code 8 gives the integer 0, thus +0 instead of -0.
constexpr std::array<i8, 16> e2m1_doubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace

void q4_0(const Blocks& blocks) {
  for_blocks_in_vectors(TensorType::Q4_0, blocks, [](const u8* block, float* y, auto width) {
    const float d = half_at(block);
    for_codes<u8>(
        width, block + 2, 16, [&](u32 i, auto codes) __attribute__((always_inline)) {
          store(as_floats((codes & 15) - 8) * d, y + i);
          store(as_floats((codes >> 4) - 8) * d, y + i + 16);
        });
  });
}

void q4_1(const Blocks& blocks) {
  for_blocks_in_vectors(TensorType::Q4_1, blocks, [](const u8* block, float* y, auto width) {
    const float d = half_at(block);
    const float m = half_at(block + 2);
    for_codes<u8>(
        width, block + 4, 16, [&](u32 i, auto codes) __attribute__((always_inline)) {
          store(as_floats(codes & 15) * d + m, y + i);
          store(as_floats(codes >> 4) * d + m, y + i + 16);
        });
  });
}

void q5_0(const Blocks& blocks) {
  for_blocks(TensorType::Q5_0, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    const i32 high = load<i32>(block + 2);
    for_nibbles(block + 6, [&](u32 i, int low) {
      const int q = low | (high >> i & 1) << 4;
      y[i] = static_cast<float>(q - 16) * d;
    });
  });
}

void q5_1(const Blocks& blocks) {
  for_blocks(TensorType::Q5_1, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    const float m = half_at(block + 2);
    const i32 high = load<i32>(block + 4);
    for_nibbles(block + 8, [&](u32 i, int low) {
      const int q = low | (high >> i & 1) << 4;
      y[i] = static_cast<float>(q) * d + m;
    });
  });
}

void q8_0(const Blocks& blocks) {
  for_blocks_in_vectors(TensorType::Q8_0, blocks, [](const u8* block, float* y, auto width) {
    const float d = half_at(block);
    for_codes<i8>(
        width, block + 2,
        32, [&](u32 i, auto codes) __attribute__((always_inline)) { store(as_floats(codes) * d, y + i); });
  });
}

void q8_1(const Blocks& blocks) {
  for_blocks(TensorType::Q8_1, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);  // skips the sum of codes at offset 2, which only dot products use
    for (u32 i = 0; i < 32; ++i) y[i] = static_cast<float>(load<i8>(block + 4 + i)) * d;
  });
}

void iq4_nl(const Blocks& blocks) {
  for_blocks(TensorType::IQ4_NL, blocks,
             [](const u8* block, float* y) { look_up_nibbles(block + 2, iq4nl_values, half_at(block), y); });
}

void mxfp4(const Blocks& blocks) {
  for_blocks(TensorType::MXFP4, blocks,
             [](const u8* block, float* y) { look_up_nibbles(block + 1, e2m1_doubled, e8m0_half(block[0]), y); });
}

// Four parts of 16 elements. In each part, low nibbles are elements 0 … 7, high nibbles 8 … 15.
void nvfp4(const Blocks& blocks) {
  for_blocks(TensorType::NVFP4, blocks, [](const u8* block, float* y) {
    for (u32 part = 0; part < 4; ++part) {
      const float d = ue4m3_half(block[part]);
      const u8* codes = block + 4 + 8 * part;
      for (u32 i = 0; i < 16; ++i) {
        y[16 * part + i] = static_cast<float>(e2m1_doubled[codes[i % 8] >> (i < 8 ? 0 : 4) & 15]) * d;
      }
    }
  });
}

void q1_0(const Blocks& blocks) {
  for_blocks(TensorType::Q1_0, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 i = 0; i < 128; ++i) y[i] = (block[2 + i / 8] >> (i % 8) & 1) != 0 ? d : -d;
  });
}

void q2_0(const Blocks& blocks) {
  for_blocks(TensorType::Q2_0, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 i = 0; i < 64; ++i) y[i] = static_cast<float>((block[2 + i / 4] >> (2 * (i % 4)) & 3) - 1) * d;
  });
}

// Five (or four) base-3 digits per byte: digit n is the leading digit of byte × 3^n, truncated to 8 bits and read as a
// fraction.
void tq1_0(const Blocks& blocks) {
  for_blocks(TensorType::TQ1_0, blocks, [](const u8* block, float* y) {
    static constexpr std::array<u32, 5> powers = {1, 3, 9, 27, 81};
    const float d = half_at(block + 52);
    const auto digits = [&](u32 first, u32 width, u32 from, u32 count) {
      for (u32 n = 0; n < count; ++n) {
        for (u32 k = 0; k < width; ++k) {
          const u32 fraction = block[from + k] * powers[n] & 255;
          y[first + n * width + k] = static_cast<float>(static_cast<int>(fraction * 3 >> 8) - 1) * d;
        }
      }
    };
    digits(0, 32, 0, 5);
    digits(160, 16, 32, 5);
    digits(240, 4, 48, 4);
  });
}

void tq2_0(const Blocks& blocks) {
  for_blocks(TensorType::TQ2_0, blocks, [](const u8* block, float* y) {
    const float d = half_at(block + 64);
    for (u32 plane = 0; plane < 8; ++plane) {
      const u8* codes = block + 32 * (plane / 4);
      const int shift = static_cast<int>(2 * (plane % 4));
      for (u32 j = 0; j < 32; ++j, ++y) *y = static_cast<float>((codes[j] >> shift & 3) - 1) * d;
    }
  });
}

}  // namespace modelutils::decode
