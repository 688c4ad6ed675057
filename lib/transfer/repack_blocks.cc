// Kernels that convert MLX codes to ggml blocks without decoding them.
#include "transfer/mlx_target.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "mlx/spread_codes.h"
#include "tensor/half.h"
#include "transfer/nibbles.h"

namespace modelutils {
namespace {

constexpr u32 block = 32;  // block size of all types here except NVFP4

const u8* bytes_of(Bytes bytes) {
  return reinterpret_cast<const u8*>(bytes.data());
}

// ---- scales and biases as f16 bits, for a batch of groups

constexpr std::size_t batch_groups = 64;
using Halves = std::array<u16, batch_groups>;

// bf16 values from 2^-14 up to (excluding) 2^16 are exact in f16, which has three more mantissa bits; the exponent
// biases differ by 112. Usually all values are in this range. The loops are simple so that the compiler vectorises
// them.
void load_bf16_as_halves(const u8* in, std::size_t count, u16* halves) {
  u16 outside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u16 bits = load<u16>(in + 2 * i);
    const u16 above = static_cast<u16>((bits & 0x7FFF) - (113 << 7));
    outside = static_cast<u16>(outside | (above >= (30 << 7) ? 1 : 0));
    halves[i] = static_cast<u16>((bits & 0x8000) | ((bits & 0x7FFF) - (112 << 7)) << 3);
  }
  if (outside == 0) return;
  for (std::size_t i = 0; i < count; ++i) halves[i] = f32_to_f16(bf16_to_f32(load<u16>(in + 2 * i)));
}

void load_halves(TensorType type, Bytes values, std::size_t first, std::size_t count, Halves& halves) {
  const u8* in = bytes_of(values) + first * type_info(type).block_bytes;
  switch (type) {
    case TensorType::F16: std::memcpy(halves.data(), in, 2 * count); break;
    case TensorType::BF16: load_bf16_as_halves(in, count, halves.data()); break;
    default:
      for (std::size_t i = 0; i < count; ++i) halves[i] = f32_to_f16(load<float>(in + 4 * i));
  }
}

// ---- codes of one block, one per byte, to the fields of ggml's blocks

using Codes = BlockCodes;

// Unpacks 32 codes from 4 × BITS bytes, least significant bit first. Loads whole words, but none beyond the block.
template <u32 BITS>
Codes unpack_block(const u8* in) {
  constexpr u32 last_word = 4 * BITS - 8;
  Codes codes;
  for (u32 run = 0; run < 4; ++run) {
    const u32 from = std::min(run * BITS, last_word);
    codes[run] = mlx::spread_codes(load<u64>(in + from) >> (8 * (run * BITS - from)), BITS);
  }
  return codes;
}

// Affine with up to four bits to Q4_1, with five to Q5_1: d = scale and m = bias in every block of a group.
template <u32 BITS>
void affine(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, u8* out) {
  constexpr u32 packed = block * BITS / 8;
  constexpr u32 bytes_out = BITS == 5 ? 24 : 20;
  const u32 blocks_per_group = form.params.group_size / block;
  const std::size_t groups = codes.size() / form.params.group_bytes();
  const u8* in = bytes_of(codes);
  const auto put_block = [&](u32 head) {
    std::memcpy(out, &head, 4);
    if constexpr (BITS == 4) {
      regroup_block(in, out + 4);
    } else {
      const Codes unpacked = unpack_block<BITS>(in);
      if constexpr (BITS == 5) store_fifth_bits(unpacked, out + 4);
      store_nibbles(unpacked, out + (BITS == 5 ? 8 : 4));
    }
    in += packed;
    out += bytes_out;
  };
  // 4-bit codes: two blocks cost hardly more than one
  const auto put_two_blocks = [&](u32 first_head, u32 second_head) {
    std::memcpy(out, &first_head, 4);
    std::memcpy(out + bytes_out, &second_head, 4);
    regroup_two_blocks(in, out + 4, out + bytes_out + 4);
    in += 2 * packed;
    out += 2 * bytes_out;
  };
  Halves d;
  Halves m;
  std::array<u32, batch_groups> heads;
  for (std::size_t first = 0; first < groups; first += batch_groups) {
    const std::size_t count = std::min(batch_groups, groups - first);
    load_halves(form.scale_type, scales, first, count, d);
    load_halves(form.bias_type, biases, first, count, m);
    for (std::size_t g = 0; g < count; ++g) heads[g] = d[g] | static_cast<u32>(m[g]) << 16;
    std::size_t g = 0;
    if (BITS == 4 && blocks_per_group == 1) {
      for (; g + 2 <= count; g += 2) put_two_blocks(heads[g], heads[g + 1]);
    }
    for (; g < count; ++g) {
      u32 b = 0;
      if (BITS == 4) {
        for (; b + 2 <= blocks_per_group; b += 2) put_two_blocks(heads[g], heads[g]);
      }
      for (; b < blocks_per_group; ++b) put_block(heads[g]);
    }
  }
}

// 8-bit affine with bias −128 × scale to Q8_0: code − 128 is the code with its highest bit inverted.
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
  std::size_t group = 0;
  for (; group + 2 <= scales.size(); group += 2, in += 32, out += 34) {
    out[0] = exponents[group];
    out[17] = exponents[group + 1];
    regroup_two_blocks(in, out + 1, out + 18);
  }
  if (group < scales.size()) {
    out[0] = exponents[group];
    regroup_block(in, out + 1);
  }
}

// For runtimes without MXFP4: d = 2^(e − 128), code = twice the FP4 value + 16. Exponents beyond f16's range occur only
// in groups of zeros (choose_target() guarantees it), for which any finite d will do.
void mxfp4_as_q5_0(Bytes codes, Bytes scales, u8* out) {
  static constexpr std::array<u8, 16> doubled = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
  static constexpr std::array<u16, 256> pairs = [] {  // for the two codes in a byte
    std::array<u16, 256> table{};
    for (u32 byte = 0; byte < 256; ++byte) table[byte] = static_cast<u16>(doubled[byte & 15] | doubled[byte >> 4] << 8);
    return table;
  }();
  const u8* in = bytes_of(codes);
  const u8* exponents = bytes_of(scales);
  for (std::size_t group = 0; group < scales.size(); ++group, in += 16, out += 22) {
    const u8 exponent = exponents[group];
    const u16 d = exponent < 104 || exponent > 143 ? u16{0} : f32_to_f16(e8m0_half(exponent));
    std::memcpy(out, &d, 2);
    Codes unpacked{};
    for (u32 k = 0; k < 16; ++k) unpacked[k / 4] |= static_cast<u64>(pairs[in[k]]) << (16 * (k % 4));
    store_fifth_bits(unpacked, out + 2);
    store_nibbles(unpacked, out + 6);
  }
}

// Four groups of 16 form a block of 64.
void nvfp4(Bytes codes, Bytes scales, u8* out) {
  const u8* in = bytes_of(codes);
  const u8* bytes = bytes_of(scales);
  for (std::size_t group = 0; group < scales.size(); group += 4, in += 32, out += 36) {
    std::memcpy(out, bytes + group, 4);
    regroup_four_parts(in, out + 4);
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

}  // namespace modelutils
