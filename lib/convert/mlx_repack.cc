#include "convert/mlx_repack.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/byte_reader.h"
#include "convert/q8_0_best.h"
#include "mlx/dequantize.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace modelutils::convert {

namespace {

constexpr u32 block = 32;  // elements of a block of every type here but NVFP4

u16 as_f16(TensorType type, const std::byte* at) {
  switch (type) {
    case TensorType::F16: return load<u16>(at);
    case TensorType::BF16: return f32_to_f16(bf16_to_f32(load<u16>(at)));
    default: return f32_to_f16(load<float>(at));
  }
}

void store(std::byte* to, u16 value) {
  std::memcpy(to, &value, 2);
}

// Codes of up to four bits, one a byte -> ggml's nibbles.
void pack_nibbles(const u8* codes, std::byte* out) {
  for (u32 j = 0; j < block / 2; ++j) out[j] = static_cast<std::byte>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

// Affine codes -> Q4_1 (2, 3, 4 bits) or Q5_1 (5 bits): d = scale, m = bias in every block of the group.
void repack_affine(const MlxForm& form, bool five_bits, Bytes codes, Bytes scales, Bytes biases, std::byte* out) {
  const u32 bits = form.params.bits;
  const u32 blocks_per_group = form.params.group_size / block;
  const u32 scale_size = type_info(form.scale_type).block_bytes;
  const u32 bias_size = type_info(form.bias_type).block_bytes;
  const u32 packed = block * bits / 8;
  const std::size_t groups = scales.size() / scale_size;
  const std::byte* in = codes.data();
  std::array<u8, block> unpacked{};
  for (std::size_t group = 0; group < groups; ++group) {
    const u16 d = as_f16(form.scale_type, scales.data() + group * scale_size);
    const u16 m = as_f16(form.bias_type, biases.data() + group * bias_size);
    for (u32 b = 0; b < blocks_per_group; ++b, in += packed) {
      store(out, d);
      store(out + 2, m);
      if (bits == 4) {
        regroup_nibbles(in, out + 4);
        out += 20;
        continue;
      }
      mlx::unpack_codes(bits, {in, packed}, unpacked);
      if (!five_bits) {
        pack_nibbles(unpacked.data(), out + 4);
        out += 20;
        continue;
      }
      u32 high = 0;
      for (u32 j = 0; j < block; ++j) high |= static_cast<u32>(unpacked[j] >> 4) << j;
      std::memcpy(out + 4, &high, 4);
      pack_nibbles(unpacked.data(), out + 8);
      out += 24;
    }
  }
}

void repack_mxfp4(Bytes codes, Bytes scales, std::byte* out) {
  for (std::size_t group = 0; group < scales.size(); ++group, out += 17) {
    out[0] = scales[group];
    regroup_nibbles(codes.data() + group * 16, out + 1);
  }
}

// For runtimes without MXFP4: d = 2^(e - 128), code = twice the FP4 value + 16.
void repack_mxfp4_as_q5_0(Bytes codes, Bytes scales, std::byte* out) {
  static constexpr std::array<u8, 16> doubled = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
  std::array<u8, block> unpacked{};
  for (std::size_t group = 0; group < scales.size(); ++group, out += 22) {
    mlx::unpack_codes(4, codes.subspan(group * 16, 16), unpacked);
    store(out, f32_to_f16(e8m0_half(static_cast<u8>(scales[group]))));
    u32 high = 0;
    for (u32 j = 0; j < block; ++j) {
      unpacked[j] = doubled[unpacked[j]];
      high |= static_cast<u32>(unpacked[j] >> 4) << j;
    }
    std::memcpy(out + 2, &high, 4);
    pack_nibbles(unpacked.data(), out + 6);
  }
}

// Four groups of 16 make a block of 64; inside a group byte j holds elements j and j + 8.
void repack_nvfp4(Bytes codes, Bytes scales, std::byte* out) {
  const std::byte* in = codes.data();
  for (std::size_t group = 0; group < scales.size(); group += 4, out += 36) {
    std::memcpy(out, scales.data() + group, 4);
    for (u32 s = 0; s < 4; ++s, in += 8) {
      std::byte* to = out + 4 + 8 * s;
      for (u32 i = 0; i < 4; ++i) {
        const u32 a = static_cast<u32>(in[i]);
        const u32 c = static_cast<u32>(in[4 + i]);
        to[2 * i] = static_cast<std::byte>((a & 15) | (c & 15) << 4);
        to[2 * i + 1] = static_cast<std::byte>(a >> 4 | (c & 0xF0));
      }
    }
  }
}

void encode_floats(TensorType type, std::span<const float> values, std::byte* out) {
  switch (type) {
    case TensorType::F16:
      for (float value : values) store(out, f32_to_f16(value)), out += 2;
      break;
    case TensorType::BF16:
      for (float value : values) store(out, f32_to_bf16(value)), out += 2;
      break;
    default: std::memcpy(out, values.data(), values.size_bytes());
  }
}

void measure(TensorType type, Bytes blocks, std::span<const float> exact, MeasuredError& error) {
  std::vector<float> carried(exact.size());
  dequantize(type, blocks, carried);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double difference = static_cast<double>(carried[i]) - static_cast<double>(exact[i]);
    error.squared_error += difference * difference;
    error.squared_value += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
    error.max_abs = std::max(error.max_abs, std::abs(difference));
  }
}

}  // namespace

void regroup_nibbles(const std::byte* in, std::byte* out) {
  // Byte i holds elements 2i and 2i + 1. ggml wants 2i with 2i + 16, and 2i + 1 with 2i + 17, as neighbours.
#if defined(__SSE2__)
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  const __m128i c = _mm_srli_si128(a, 8);
  const __m128i low = _mm_set1_epi8(0x0F);
  const __m128i even = _mm_or_si128(_mm_and_si128(a, low), _mm_slli_epi16(_mm_and_si128(c, low), 4));
  const __m128i odd = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(a, 4), low), _mm_andnot_si128(low, c));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi8(even, odd));
#else
  const u64 a = load<u64>(in);
  const u64 c = load<u64>(in + 8);
  constexpr u64 low = 0x0F0F0F0F0F0F0F0Fu;
  const u64 even = (a & low) | (c & low) << 4;
  const u64 odd = ((a >> 4) & low) | (c & ~low);
  for (u32 i = 0; i < 8; ++i) {
    out[2 * i] = static_cast<std::byte>(even >> (8 * i));
    out[2 * i + 1] = static_cast<std::byte>(odd >> (8 * i));
  }
#endif
}

void repack_rows(const MlxForm& form, const Target& target, Bytes codes, Bytes scales, Bytes biases, MutableBytes out,
                 MeasuredError* error) {
  std::vector<float> exact;
  if (target.recipe != Recipe::blocks || error != nullptr) {
    const TypeInfo& info = type_info(target.type);
    exact.resize(out.size() / info.block_bytes * info.block_elements);
    mlx::dequantize(form.params, {codes, form.scale_type, scales, form.bias_type, biases}, exact);
  }
  switch (target.recipe) {
    case Recipe::decode: encode_floats(target.type, exact, out.data()); break;
    case Recipe::q8_0_best: encode_q8_0_best(form, codes, scales, biases, exact, out); break;
    case Recipe::blocks:
      switch (target.type) {
        case TensorType::MXFP4: repack_mxfp4(codes, scales, out.data()); break;
        case TensorType::Q5_0: repack_mxfp4_as_q5_0(codes, scales, out.data()); break;
        case TensorType::NVFP4: repack_nvfp4(codes, scales, out.data()); break;
        default: repack_affine(form, target.type == TensorType::Q5_1, codes, scales, biases, out.data()); break;
      }
      break;
  }
  if (error != nullptr) measure(target.type, out, exact, *error);
}

}  // namespace modelutils::convert
