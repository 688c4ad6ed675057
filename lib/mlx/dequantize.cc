#include "mlx/dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/byte_reader.h"
#include "mlx/spread_codes.h"
#include "tensor/half.h"

namespace modelutils::mlx {

namespace {

constexpr std::array<float, 16> fp4_values{0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                           -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

// Read as an F16, the 7 magnitude bits have an exponent bias of 15 instead of 7, so the value is 2^8 too small.
constexpr float e4m3_value(u32 bits) {
  const float magnitude = f16_to_f32(static_cast<u16>((bits & 0x7F) << 7)) * 256.0f;
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

constexpr std::array<float, 256> e4m3_values = [] {
  std::array<float, 256> values{};
  for (u32 bits = 0; bits < 256; ++bits) values[bits] = e4m3_value(bits);
  return values;
}();

// Room for the codes of one group; params_problem() limits its size.
constexpr std::size_t max_group = 1024;

float scale_at(TensorType type, Bytes data, std::size_t index) {
  switch (type) {
    case TensorType::F16: return f16_to_f32(load<u16>(data.data() + index * 2));
    case TensorType::BF16: return bf16_to_f32(load<u16>(data.data() + index * 2));
    default: return load<float>(data.data() + index * 4);
  }
}

void dequantize_affine(const Params& params, const Groups& groups, std::span<float> out) {
  std::array<u8, max_group> codes{};
  const std::size_t group = params.group_size;
  const std::size_t group_bytes = params.group_bytes();
  const std::size_t count = out.size() / group;
  for (std::size_t g = 0; g < count; ++g) {
    const float scale = scale_at(groups.scale_type, groups.scales, g);
    const float bias = scale_at(groups.bias_type, groups.biases, g);
    unpack_codes(params.bits, groups.codes.subspan(g * group_bytes, group_bytes), {codes.data(), group});
    float* to = out.data() + g * group;
    for (std::size_t i = 0; i < group; ++i) {
      to[i] = scale * static_cast<float>(codes[i]) + bias;  // rounded twice: the build forbids fused multiply-adds
    }
  }
}

void dequantize_fp(const Params& params, const Groups& groups, std::span<float> out) {
  const std::size_t group = params.group_size;
  const std::size_t group_bytes = params.group_bytes();
  const std::size_t count = out.size() / group;
  for (std::size_t g = 0; g < count; ++g) {
    const u8 byte = std::to_integer<u8>(groups.scales[g]);
    const float scale = params.mode == Mode::nvfp4 ? e4m3_to_f32(byte) : e8m0_to_f32(byte);
    const std::byte* codes = groups.codes.data() + g * group_bytes;
    float* to = out.data() + g * group;
    if (params.mode == Mode::mxfp8) {
      for (std::size_t i = 0; i < group; ++i) to[i] = scale * e4m3_values[std::to_integer<u8>(codes[i])];
    } else {
      for (std::size_t i = 0; i < group_bytes; ++i) {
        const u8 pair = std::to_integer<u8>(codes[i]);
        to[2 * i] = scale * fp4_values[pair & 15u];
        to[2 * i + 1] = scale * fp4_values[pair >> 4];
      }
    }
  }
}

}  // namespace

float e8m0_to_f32(u8 bits) {
  return bf16_to_f32(bits == 0 ? u16{0x40} : static_cast<u16>(bits << 7));
}

float e4m3_to_f32(u8 bits) {
  return e4m3_values[bits];
}

void unpack_codes(u32 bits, Bytes packed, std::span<u8> out) {
  if (bits == 8) {
    std::memcpy(out.data(), packed.data(), out.size());
    return;
  }
  // Eight codes fill exactly `bits` bytes. Loads a whole 64-bit word while there are 8 bytes left.
  const std::byte* in = packed.data();
  std::size_t left = packed.size();
  std::size_t i = 0;
  for (; i + 8 <= out.size() && left >= 8; i += 8, in += bits, left -= bits) {
    const u64 codes = spread_codes(load<u64>(in), bits);
    std::memcpy(out.data() + i, &codes, 8);
  }
  while (i < out.size()) {
    u64 word = 0;
    const std::size_t size = std::min<std::size_t>(left, bits);
    std::memcpy(&word, in, size);
    const u64 codes = spread_codes(word, bits);
    const std::size_t count = std::min<std::size_t>(8, out.size() - i);
    std::memcpy(out.data() + i, &codes, count);
    i += count;
    in += size;
    left -= size;
  }
}

void dequantize(const Params& params, const Groups& groups, std::span<float> out) {
  if (params.mode == Mode::affine) {
    dequantize_affine(params, groups, out);
  } else {
    dequantize_fp(params, groups, out);
  }
}

}  // namespace modelutils::mlx
