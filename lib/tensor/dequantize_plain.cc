// Types without scales: floats of every size and integers.
#include <bit>
#include <cstring>

#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/half.h"

namespace modelutils::decode {
namespace {

template <typename T>
void numbers(const u8* in, float* out, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) out[i] = static_cast<float>(load<T>(in + i * sizeof(T)));
}

template <float (*CONVERT)(u8)>
void bytes(const u8* in, float* out, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) out[i] = CONVERT(in[i]);
}

// Four codes in three bytes: a little-endian bit stream, least significant bit first.
template <float (*CONVERT)(u8)>
void six_bits(const u8* in, float* out, std::size_t blocks) {
  for (; blocks > 0; --blocks, in += 3, out += 4) {
    const u32 word = in[0] | static_cast<u32>(in[1]) << 8 | static_cast<u32>(in[2]) << 16;
    for (u32 k = 0; k < 4; ++k) out[k] = CONVERT(static_cast<u8>(word >> (6 * k) & 63));
  }
}

}  // namespace

void f32(const u8* in, float* out, std::size_t blocks) {
  std::memcpy(out, in, blocks * 4);
}

// f16_to_f32() without branches: all three cases are computed, masks choose. That the vectoriser can do.
void f16(const u8* in, float* out, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    const i32 bits = load<u16>(in + 2 * i);
    const i32 magnitude = bits & 0x7FFF;
    const i32 subnormal = std::bit_cast<i32>(static_cast<float>(magnitude) * 0x1p-24f);
    const i32 normal = (magnitude << 13) + (112 << 23);
    const i32 is_subnormal = -static_cast<i32>(magnitude < 0x0400);
    const i32 is_special = -static_cast<i32>(magnitude > 0x7BFF);
    const i32 is_nan = -static_cast<i32>(magnitude > 0x7C00);
    const i32 finite = (subnormal & is_subnormal) | (normal & ~is_subnormal);
    const i32 value = finite | (is_special & 0x7F800000) | (is_nan & 0x00400000);
    const u32 result = static_cast<u32>(value) | static_cast<u32>(bits & 0x8000) << 16;
    std::memcpy(out + i, &result, 4);
  }
}

void bf16(const u8* in, float* out, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    const u32 bits = static_cast<u32>(load<u16>(in + 2 * i)) << 16;
    std::memcpy(out + i, &bits, 4);  // never through a float: signalling NaNs stay as they are
  }
}

void f64(const u8* in, float* out, std::size_t blocks) {
  numbers<double>(in, out, blocks);
}
void i8_(const u8* in, float* out, std::size_t blocks) {
  numbers<i8>(in, out, blocks);
}
void i16_(const u8* in, float* out, std::size_t blocks) {
  numbers<i16>(in, out, blocks);
}
void i32_(const u8* in, float* out, std::size_t blocks) {
  numbers<i32>(in, out, blocks);
}
void i64_(const u8* in, float* out, std::size_t blocks) {
  numbers<i64>(in, out, blocks);
}
void u8_(const u8* in, float* out, std::size_t blocks) {
  numbers<u8>(in, out, blocks);
}
void u16_(const u8* in, float* out, std::size_t blocks) {
  numbers<u16>(in, out, blocks);
}
void u32_(const u8* in, float* out, std::size_t blocks) {
  numbers<u32>(in, out, blocks);
}
void u64_(const u8* in, float* out, std::size_t blocks) {
  numbers<u64>(in, out, blocks);
}

void e4m3(const u8* in, float* out, std::size_t blocks) {
  bytes<f8_e4m3_to_f32>(in, out, blocks);
}
void e5m2(const u8* in, float* out, std::size_t blocks) {
  bytes<f8_e5m2_to_f32>(in, out, blocks);
}
void e4m3fnuz(const u8* in, float* out, std::size_t blocks) {
  bytes<f8_e4m3fnuz_to_f32>(in, out, blocks);
}
void e5m2fnuz(const u8* in, float* out, std::size_t blocks) {
  bytes<f8_e5m2fnuz_to_f32>(in, out, blocks);
}
void e8m0(const u8* in, float* out, std::size_t blocks) {
  bytes<f8_e8m0_to_f32>(in, out, blocks);
}

// Two codes in a byte, the first in the low nibble.
void f4(const u8* in, float* out, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    out[2 * i] = f4_to_f32(in[i] & 15);
    out[2 * i + 1] = f4_to_f32(in[i] >> 4);
  }
}

void f6_e2m3(const u8* in, float* out, std::size_t blocks) {
  six_bits<f6_e2m3_to_f32>(in, out, blocks);
}
void f6_e3m2(const u8* in, float* out, std::size_t blocks) {
  six_bits<f6_e3m2_to_f32>(in, out, blocks);
}

}  // namespace modelutils::decode
