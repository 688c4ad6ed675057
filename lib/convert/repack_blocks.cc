#include "convert/repack_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "convert/nibbles.h"
#include "tensor/half.h"

namespace modelutils::convert {
namespace {

constexpr u32 block = 32;  // elements of a block of every type here but NVFP4

const u8* bytes_of(Bytes bytes) {
  return reinterpret_cast<const u8*>(bytes.data());
}

// ---- scales and biases as f16 bits, a batch of groups at a time.

constexpr std::size_t batch_groups = 64;
using Halves = std::array<u16, batch_groups>;

u16 f16_of_bf16(u16 bits) {
  const u32 magnitude = bits & 0x7FFFu;
  // 2^-14 up to but not including 2^16: f16 has three bits more of mantissa, nothing is rounded.
  if (magnitude - (113u << 7) < (30u << 7)) {
    return static_cast<u16>((bits & 0x8000u) | (magnitude - (112u << 7)) << 3);
  }
  return f32_to_f16(bf16_to_f32(bits));
}

void load_halves(TensorType type, Bytes values, std::size_t first, std::size_t count, Halves& halves) {
  const u8* in = bytes_of(values) + first * type_info(type).block_bytes;
  switch (type) {
    case TensorType::F16: std::memcpy(halves.data(), in, 2 * count); break;
    case TensorType::BF16:
      for (std::size_t i = 0; i < count; ++i) halves[i] = f16_of_bf16(load<u16>(in + 2 * i));
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) halves[i] = f32_to_f16(load<float>(in + 4 * i));
  }
}

// ---- codes of one block, one a byte -> the fields of ggml's blocks.

void store_nibbles(const u8* codes, u8* out) {
  for (u32 j = 0; j < block / 2; ++j) out[j] = static_cast<u8>((codes[j] & 15) | codes[j + 16] << 4);
}

void store_fifth_bits(const u8* codes, u8* out) {
  u32 bits = 0;
  for (u32 j = 0; j < block; ++j) bits |= static_cast<u32>(codes[j] >> 4 & 1) << j;
  std::memcpy(out, &bits, 4);
}

// Eight codes in BITS bytes, least significant bit first.
template <u32 BITS>
void unpack_block(const u8* in, u8* codes) {
  for (u32 run = 0; run < block / 8; ++run, in += BITS) {
    u64 word = 0;
    std::memcpy(&word, in, BITS);
    for (u32 j = 0; j < 8; ++j) codes[8 * run + j] = static_cast<u8>(word >> (BITS * j) & ((1u << BITS) - 1));
  }
}

// Affine of up to four bits -> Q4_1, of five -> Q5_1: d = scale, m = bias in every block of a group.
template <u32 BITS>
void affine(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, u8* out) {
  constexpr u32 packed = block * BITS / 8;
  const u32 blocks_per_group = form.params.group_size / block;
  const std::size_t groups = codes.size() / form.params.group_bytes();
  const u8* in = bytes_of(codes);
  Halves d;
  Halves m;
  for (std::size_t first = 0; first < groups; first += batch_groups) {
    const std::size_t count = std::min(batch_groups, groups - first);
    load_halves(form.scale_type, scales, first, count, d);
    load_halves(form.bias_type, biases, first, count, m);
    for (std::size_t g = 0; g < count; ++g) {
      const u32 head = d[g] | static_cast<u32>(m[g]) << 16;
      for (u32 b = 0; b < blocks_per_group; ++b, in += packed) {
        std::memcpy(out, &head, 4);
        if constexpr (BITS == 4) {
          regroup_block_of_32(in, out + 4);
          out += 20;
        } else {
          std::array<u8, block> unpacked;
          unpack_block<BITS>(in, unpacked.data());
          if constexpr (BITS == 5) store_fifth_bits(unpacked.data(), out + 4);
          store_nibbles(unpacked.data(), out + (BITS == 5 ? 8 : 4));
          out += BITS == 5 ? 24 : 20;
        }
      }
    }
  }
}

// Affine of eight bits around -128 × scale -> Q8_0: code - 128 is the code with its highest bit flipped.
void symmetric(const MlxForm& form, Bytes codes, Bytes scales, u8* out) {
  const u32 blocks_per_group = form.params.group_size / block;
  const std::size_t groups = codes.size() / form.params.group_bytes();
  const u8* in = bytes_of(codes);
  Halves d;
  for (std::size_t first = 0; first < groups; first += batch_groups) {
    const std::size_t count = std::min(batch_groups, groups - first);
    load_halves(form.scale_type, scales, first, count, d);
    for (std::size_t g = 0; g < count; ++g) {
      for (u32 b = 0; b < blocks_per_group; ++b, in += block, out += 34) {
        std::memcpy(out, &d[g], 2);
        for (u32 i = 0; i < block; ++i) out[2 + i] = in[i] ^ 0x80;
      }
    }
  }
}

void mxfp4(Bytes codes, Bytes scales, u8* out) {
  const u8* in = bytes_of(codes);
  const u8* exponents = bytes_of(scales);
  for (std::size_t group = 0; group < scales.size(); ++group, in += 16, out += 17) {
    out[0] = exponents[group];
    regroup_block_of_32(in, out + 1);
  }
}

// For runtimes without MXFP4: d = 2^(e - 128), code = twice the FP4 value + 16. The exponents that f16 has no power of
// two for belong to groups of zeros (choose_target() sees to that): any finite d does.
void mxfp4_as_q5_0(Bytes codes, Bytes scales, u8* out) {
  static constexpr std::array<u8, 16> doubled = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
  const u8* in = bytes_of(codes);
  const u8* exponents = bytes_of(scales);
  std::array<u8, block> unpacked;
  for (std::size_t group = 0; group < scales.size(); ++group, in += 16, out += 22) {
    const u8 exponent = exponents[group];
    const u16 d = exponent < 104 || exponent > 143 ? u16{0} : f32_to_f16(e8m0_half(exponent));
    std::memcpy(out, &d, 2);
    unpack_block<4>(in, unpacked.data());
    for (u8& code : unpacked) code = doubled[code];
    store_fifth_bits(unpacked.data(), out + 2);
    store_nibbles(unpacked.data(), out + 6);
  }
}

// Four groups of 16 make a block of 64.
void nvfp4(Bytes codes, Bytes scales, u8* out) {
  const u8* in = bytes_of(codes);
  const u8* bytes = bytes_of(scales);
  for (std::size_t group = 0; group < scales.size(); group += 4, in += 32, out += 36) {
    std::memcpy(out, bytes + group, 4);
    regroup_two_of_16(in, out + 4);
    regroup_two_of_16(in + 16, out + 20);
  }
}

}  // namespace

void repack_blocks(const MlxForm& form, TensorType type, Bytes codes, Bytes scales, Bytes biases, MutableBytes out) {
  u8* to = reinterpret_cast<u8*>(out.data());
  switch (type) {
    case TensorType::MXFP4: return mxfp4(codes, scales, to);
    case TensorType::Q5_0: return mxfp4_as_q5_0(codes, scales, to);
    case TensorType::NVFP4: return nvfp4(codes, scales, to);
    case TensorType::Q8_0: return symmetric(form, codes, scales, to);
    default: break;
  }
  switch (form.params.bits) {
    case 2: return affine<2>(form, codes, scales, biases, to);
    case 3: return affine<3>(form, codes, scales, biases, to);
    case 4: return affine<4>(form, codes, scales, biases, to);
    default: return affine<5>(form, codes, scales, biases, to);
  }
}

}  // namespace modelutils::convert
