// Types without scales: floats of every size and integers.
#include <bit>
#include <cstring>

#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/half.h"

namespace modelutils::decode {
namespace {

// Calls body(bytes, value) for each element of BYTES bytes. The loop uses only local variables, which writes to `out`
// cannot alias, so that it can be vectorised.
template <std::size_t BYTES, typename Body>
void for_elements(const Blocks& blocks, const Body& body) {
  run_with(
      blocks.instructions, [&](auto) __attribute__((flatten)) {
        const u8* in = blocks.in;
        float* out = blocks.out;
        const std::size_t count = blocks.count;
        for (std::size_t i = 0; i < count; ++i) body(in + i * BYTES, out + i);
      });
}

template <typename T>
void numbers(const Blocks& blocks) {
  for_elements<sizeof(T)>(blocks, [](const u8* in, float* out) { *out = static_cast<float>(load<T>(in)); });
}

template <float (*CONVERT)(u8)>
void bytes(const Blocks& blocks) {
  for_elements<1>(blocks, [](const u8* in, float* out) { *out = CONVERT(*in); });
}

// Decodes four 6-bit codes in three bytes: a little-endian bit stream, least significant bit first.
template <float (*CONVERT)(u8)>
void six_bits(TensorType type, const Blocks& blocks) {
  for_blocks(type, blocks, [](const u8* in, float* out) {
    const u32 word = in[0] | static_cast<u32>(in[1]) << 8 | static_cast<u32>(in[2]) << 16;
    for (u32 k = 0; k < 4; ++k) out[k] = CONVERT(static_cast<u8>(word >> (6 * k) & 63));
  });
}

}  // namespace

void f32(const Blocks& blocks) {
  std::memcpy(blocks.out, blocks.in, blocks.count * 4);
}

// f16_to_f32() without branches, so that it can be vectorised: all three cases are computed and selected by masks.
void f16(const Blocks& blocks) {
  for_elements<2>(blocks, [](const u8* in, float* out) {
    const i32 bits = load<u16>(in);
    const i32 magnitude = bits & 0x7FFF;
    const i32 subnormal = std::bit_cast<i32>(static_cast<float>(magnitude) * 0x1p-24f);
    const i32 normal = (magnitude << 13) + (112 << 23);
    const i32 is_subnormal = -static_cast<i32>(magnitude < 0x0400);
    const i32 is_special = -static_cast<i32>(magnitude > 0x7BFF);
    const i32 is_nan = -static_cast<i32>(magnitude > 0x7C00);
    const i32 finite = (subnormal & is_subnormal) | (normal & ~is_subnormal);
    const i32 value = finite | (is_special & 0x7F800000) | (is_nan & 0x00400000);
    const u32 result = static_cast<u32>(value) | static_cast<u32>(bits & 0x8000) << 16;
    std::memcpy(out, &result, 4);
  });
}

void bf16(const Blocks& blocks) {
  for_elements<2>(blocks, [](const u8* in, float* out) {
    const u32 bits = static_cast<u32>(load<u16>(in)) << 16;
    std::memcpy(out, &bits, 4);  // copied as bits, because a float move could quiet signalling NaNs
  });
}

void f64(const Blocks& blocks) {
  numbers<double>(blocks);
}
void i8_(const Blocks& blocks) {
  numbers<i8>(blocks);
}
void i16_(const Blocks& blocks) {
  numbers<i16>(blocks);
}
void i32_(const Blocks& blocks) {
  numbers<i32>(blocks);
}
void i64_(const Blocks& blocks) {
  numbers<i64>(blocks);
}
void u8_(const Blocks& blocks) {
  numbers<u8>(blocks);
}
void u16_(const Blocks& blocks) {
  numbers<u16>(blocks);
}
void u32_(const Blocks& blocks) {
  numbers<u32>(blocks);
}
void u64_(const Blocks& blocks) {
  numbers<u64>(blocks);
}

void e4m3(const Blocks& blocks) {
  bytes<f8_e4m3_to_f32>(blocks);
}
void e5m2(const Blocks& blocks) {
  bytes<f8_e5m2_to_f32>(blocks);
}
void e4m3fnuz(const Blocks& blocks) {
  bytes<f8_e4m3fnuz_to_f32>(blocks);
}
void e5m2fnuz(const Blocks& blocks) {
  bytes<f8_e5m2fnuz_to_f32>(blocks);
}
void e8m0(const Blocks& blocks) {
  bytes<f8_e8m0_to_f32>(blocks);
}

// Two codes per byte, the first in the low nibble.
void f4(const Blocks& blocks) {
  for_blocks(TensorType::F4, blocks, [](const u8* in, float* out) {
    out[0] = f4_to_f32(in[0] & 15);
    out[1] = f4_to_f32(in[0] >> 4);
  });
}

void f6_e2m3(const Blocks& blocks) {
  six_bits<f6_e2m3_to_f32>(TensorType::F6_E2M3, blocks);
}
void f6_e3m2(const Blocks& blocks) {
  six_bits<f6_e3m2_to_f32>(TensorType::F6_E3M2, blocks);
}

}  // namespace modelutils::decode
