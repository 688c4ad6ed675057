#include "convert/transfer/encoders.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/byte_reader.h"
#include "convert/transfer/integer_carrier.h"
#include "convert/transfer/mlx_target.h"
#include "model/forms/stored_form.h"
#include "model/mlx/quantization.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "tensor/narrow.h"

namespace modelutils {

namespace {

template <TensorType type>
void encode_floats(std::span<const float> values, u64 /*columns*/, const EncodeHints& /*hints*/, MutableBytes out) {
  narrow(type, values, out.data());
}

void encode_q8_0(std::span<const float> values, u64 /*columns*/, const EncodeHints& /*hints*/, MutableBytes out) {
  encode_q8_0_best({}, {}, {}, {}, values, out);
}

constexpr std::array encoders = {
    Encoder{TensorType::F32, encode_floats<TensorType::F32>},
    Encoder{TensorType::F16, encode_floats<TensorType::F16>},
    Encoder{TensorType::BF16, encode_floats<TensorType::BF16>},
    Encoder{TensorType::Q8_0, encode_q8_0},
};

}  // namespace

const Encoder* encoder_of(TensorType type) {
  const auto found = std::ranges::find(encoders, type, &Encoder::type);
  return found == encoders.end() ? nullptr : &*found;
}

namespace {

constexpr u32 block_elements = 32;
constexpr u32 block_bytes = 34;

using Values = std::span<const float, block_elements>;

struct Candidate {
  u16 d = 0;
  std::array<i8, block_elements> codes{};
  double error = HUGE_VAL;

  // Computes the sum of squared errors; infinite if d is not finite.
  void measure(Values exact) {
    const float scale = f16_to_f32(d);
    if (!std::isfinite(scale)) return;
    std::array<double, 4> sums{};  // independent sums, so that the compiler can vectorize
    for (u32 i = 0; i < block_elements; i += 4) {
      for (u32 k = 0; k < 4; ++k) {
        const float carried = scale * static_cast<float>(codes[i + k]);
        const double difference = static_cast<double>(carried) - static_cast<double>(exact[i + k]);
        sums[k] += difference * difference;
      }
    }
    error = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    if (std::isnan(error)) error = HUGE_VAL;
  }
};

// Plain Q8_0: d = largest magnitude / 127, with codes matching d after rounding to f16.
void try_plain(Values exact, Candidate& candidate) {
  // The bits of non-negative floats, as integers, have the same order; and an integer maximum can be vectorized.
  i32 largest_bits = 0;
  for (float value : exact) largest_bits = std::max(largest_bits, std::bit_cast<i32>(value) & 0x7FFFFFFF);
  const float largest = std::bit_cast<float>(largest_bits);
  candidate.d = f32_to_f16(largest / 127.0f);
  if (candidate.d == 0 && largest > 0) candidate.d = 1;
  const float scale = f16_to_f32(candidate.d);
  const float inverse = scale > 0 ? 1.0f / scale : 0.0f;
  for (u32 i = 0; i < block_elements; ++i) {
    const float code = exact[i] * inverse;
    const float not_below = code > -127.0f ? code : -127.0f;  // also replaces NaN, so that the cast is defined
    const float limited = not_below < 127.0f ? not_below : 127.0f;
    candidate.codes[i] = static_cast<i8>(static_cast<int>(limited + 128.5f) - 128);  // rounds half up
  }
  candidate.measure(exact);
}

void try_constant(Values exact, Candidate& candidate) {
  candidate.error = HUGE_VAL;
  const float value = exact[0];
  for (u32 i = 1; i < block_elements; ++i) {
    if (exact[i] != value) return;
  }
  candidate.d = f32_to_f16(value);
  candidate.codes.fill(1);
  candidate.measure(exact);
}

// The integer form: d = scale, code = q + round(bias / scale).
void try_integer(float scale, float bias, std::span<const u8, block_elements> codes, Values exact,
                 Candidate& candidate) {
  candidate.error = HUGE_VAL;
  const float offset = std::round(bias / scale);
  if (!(std::abs(offset) <= 512)) return;  // also NaN
  const int shift = static_cast<int>(offset);
  u8 least = 255;
  u8 greatest = 0;
  for (u8 code : codes) {
    least = std::min(least, code);
    greatest = std::max(greatest, code);
  }
  if (least + shift < -128 || greatest + shift > 127) return;
  candidate.d = f32_to_f16(scale);
  for (u32 i = 0; i < block_elements; ++i) candidate.codes[i] = static_cast<i8>(codes[i] + shift);
  candidate.measure(exact);
}

}  // namespace

void encode_q8_0_best(const MlxForm& form, Bytes codes, Bytes scales, Bytes biases, std::span<const float> exact,
                      MutableBytes out) {
  const bool has_codes =
      !codes.empty() && form.params.mode == mlx::Mode::affine && form.params.group_size % block_elements == 0;
  const u32 scale_size = type_info(form.scale_type).block_bytes;
  const u32 bias_size = type_info(form.bias_type).block_bytes;
  const u32 packed = block_elements * form.params.bits / 8;
  std::array<u8, block_elements> unpacked;
  std::array<Candidate, 2> candidates;
  for (std::size_t b = 0; b * block_elements < exact.size(); ++b) {
    const Values values(exact.data() + b * block_elements, block_elements);
    Candidate* best = &candidates[0];
    Candidate* other = &candidates[1];
    const auto keep_better = [&] {
      if (other->error < best->error) std::swap(best, other);
    };
    best->error = HUGE_VAL;
    if (has_codes) {
      const std::size_t group = b * block_elements / form.params.group_size;
      mlx::unpack_codes(form.params.bits, codes.subspan(b * packed, packed), unpacked);
      try_integer(scale_at(form.scale_type, scales.data() + group * scale_size),
                  scale_at(form.bias_type, biases.data() + group * bias_size), unpacked, values, *best);
    }
    if (best->error > 0) {
      try_constant(values, *other);
      keep_better();
    }
    if (best->error > 0) {
      try_plain(values, *other);
      // If no Q8_0 can hold the values, every error is infinite; choose_target() avoids Q8_0 for such tensors.
      if (std::isinf(best->error)) std::swap(best, other);
      keep_better();
    }
    std::byte* to = out.data() + b * block_bytes;
    std::memcpy(to, &best->d, 2);
    std::memcpy(to + 2, best->codes.data(), block_elements);
  }
}

namespace {

constexpr std::size_t half_block = 16;  // in 16 bytes, low nibbles are elements 0 to 15, high ones 16 to 31

std::byte without_bias(unsigned code, int bias) {
  return static_cast<std::byte>(static_cast<i8>(static_cast<int>(code) - bias));
}

// Converts (d, 16 bytes of nibbles) to (d, 32 codes).
void q4_0_to_q8_0(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 2);
  for (std::size_t i = 0; i < half_block; ++i) {
    const unsigned nibbles = std::to_integer<unsigned>(from[2 + i]);
    to[2 + i] = without_bias(nibbles & 15, 8);
    to[2 + half_block + i] = without_bias(nibbles >> 4, 8);
  }
}

// Converts (d, 32 fifth bits, 16 bytes of nibbles) to (d, 32 codes).
void q5_0_to_q8_0(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 2);
  u32 fifth = 0;
  std::memcpy(&fifth, from + 2, 4);
  for (std::size_t i = 0; i < half_block; ++i) {
    const unsigned nibbles = std::to_integer<unsigned>(from[6 + i]);
    to[2 + i] = without_bias((nibbles & 15) | (fifth >> i & 1) << 4, 16);
    to[2 + half_block + i] = without_bias(nibbles >> 4 | (fifth >> (i + half_block) & 1) << 4, 16);
  }
}

// Converts (d, m, nibbles) to (d, m, 32 fifth bits, nibbles).
void q4_1_to_q5_1(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, 4);
  std::memset(to + 4, 0, 4);
  std::memcpy(to + 8, from + 4, half_block);
}

}  // namespace

BlockConversion conversion_of(TensorType from, TensorType to) {
  const TypeInfo& type = type_info(from);
  if (to == TensorType::F32) return {type.block_bytes, type.block_elements * 4};
  return {type.block_bytes, type_info(to).block_bytes};
}

void convert_blocks(TensorType from, TensorType to, Bytes source, MutableBytes out) {
  if (to == TensorType::F32) {
    // The output may be unaligned, so decode into a buffer.
    std::vector<float> values(out.size() / 4);
    dequantize(from, source, values);
    std::memcpy(out.data(), values.data(), values.size() * 4);
    return;
  }
  const auto convert = to == TensorType::Q5_1 ? q4_1_to_q5_1 : from == TensorType::Q4_0 ? q4_0_to_q8_0 : q5_0_to_q8_0;
  const BlockConversion sizes = conversion_of(from, to);
  const std::size_t count = out.size() / sizes.to_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    convert(source.data() + i * sizes.from_bytes, out.data() + i * sizes.to_bytes);
  }
}

// Kernels that convert MLX codes to ggml blocks without decoding them.

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
