#include "model/mlx/block_form.h"

#include <algorithm>
#include <array>

#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/codebooks.h"
#include "tensor/half.h"
#include "tensor/narrow.h"

namespace modelutils::mlx {

namespace {

// 32 codes in 16 bytes: low nibbles are elements 0 … 15, high nibbles 16 … 31.
template <u32 AT>
void nibbles(const u8* block, u8* codes) {
  for (u32 i = 0; i < 16; ++i) codes[i] = block[AT + i] & 15;
  for (u32 i = 0; i < 16; ++i) codes[16 + i] = block[AT + i] >> 4;
}

// Like the function above, for five-bit codes with the fifth bits in the four bytes before.
template <u32 AT>
void five_bits(const u8* block, u8* codes) {
  nibbles<AT>(block, codes);
  const u32 high = load<u32>(block + AT - 4);
  for (u32 i = 0; i < 32; ++i) codes[i] = static_cast<u8>(codes[i] | (high >> i & 1) << 4);
}

void q8_0(const u8* block, u8* codes) {
  for (u32 i = 0; i < 32; ++i) codes[i] = block[2 + i] ^ 0x80;
}

void q3_k(const u8* block, u8* codes) {
  for (u32 k = 0; k < 16; ++k, codes += 16) {
    const int scale = q3_k_scale(block + 96, k);
    const u8* two_bits = block + 32 + 32 * (k / 8) + 16 * (k % 2);
    const int plane = static_cast<int>(2 * (k % 8 / 2));
    const u8* third_bits = block + 16 * (k % 2);  // a clear bit subtracts 4
    const int bit = static_cast<int>(k / 2);
    for (u32 j = 0; j < 16; ++j) {
      const int q = ((two_bits[j] >> plane & 3) | (third_bits[j] >> bit & 1) << 2) - 4;
      codes[j] = static_cast<u8>(128 - scale * q);
    }
  }
}

// Each 32 bytes hold 64 elements, low nibbles first.
void four_bits(const u8* bytes, u8* codes) {
  for (u32 run = 0; run < 4; ++run, bytes += 32, codes += 64) {
    for (u32 i = 0; i < 32; ++i) codes[i] = bytes[i] & 15;
    for (u32 i = 0; i < 32; ++i) codes[32 + i] = bytes[i] >> 4;
  }
}

void q4_k(const u8* block, u8* codes) {
  four_bits(block + 16, codes);
}

void q5_k(const u8* block, u8* codes) {
  four_bits(block + 48, codes);
  for (u32 k = 0; k < 8; ++k) {
    for (u32 i = 0; i < 32; ++i) codes[32 * k + i] = static_cast<u8>(codes[32 * k + i] | (block[16 + i] >> k & 1) << 4);
  }
}

template <u32 AT>
void levels(const u8* block, u8* codes) {
  nibbles<AT>(block, codes);
  for (u32 i = 0; i < 32; ++i) codes[i] = static_cast<u8>(iq4nl_values[codes[i]] + 128);
}

void iq4_xs(const u8* block, u8* codes) {
  for (u32 g = 0; g < 8; ++g) levels<8>(block + 16 * g, codes + 32 * g);
}

// Computes `zero` plus or minus each magnitude, depending on the bits of `signs`.
void signed_codes(int zero, const i8* magnitudes, u32 count, u32 signs, u8* codes) {
  for (u32 j = 0; j < count; ++j) {
    codes[j] = static_cast<u8>((signs >> j & 1) != 0 ? zero - magnitudes[j] : zero + magnitudes[j]);
  }
}

void iq2_xxs(const u8* block, u8* codes) {
  for (u32 g = 0; g < 8; ++g) {
    const u8* group = block + 2 + 8 * g;
    const u32 word = load<u32>(group + 4);
    for (u32 l = 0; l < 4; ++l, codes += 8) {
      signed_codes(128, iq2xxs_grid[group[l]].data(), 8, even_signs(word >> (7 * l) & 127), codes);
    }
  }
}

// Computes (zero ± magnitude) / 2 for four magnitudes.
void halved_codes(int zero, const i8* magnitudes, u32 signs, u8* codes) {
  for (u32 j = 0; j < 4; ++j) {
    codes[j] = static_cast<u8>((zero + ((signs >> j & 1) != 0 ? -magnitudes[j] : magnitudes[j])) / 2);
  }
}

void iq3_xxs(const u8* block, u8* codes) {
  for (u32 run = 0; run < 32; ++run, codes += 8) {
    const u32 signs = even_signs(load<u32>(block + 66 + run / 4 * 4) >> (7 * (run % 4)) & 127);
    halved_codes(62, iq3xxs_grid[block[2 + 2 * run]].data(), signs, codes);
    halved_codes(62, iq3xxs_grid[block[3 + 2 * run]].data(), signs >> 4, codes + 4);
  }
}

void iq3_s(const u8* block, u8* codes) {
  for (u32 run = 0; run < 32; ++run, codes += 8) {
    const u32 ninth_bits = block[66 + run / 4] >> (2 * (run % 4));
    const u32 first = block[2 + 2 * run] | (ninth_bits & 1u) << 8;
    const u32 second = block[3 + 2 * run] | (ninth_bits >> 1 & 1u) << 8;
    const u32 signs = block[74 + run];
    halved_codes(15, iq3s_grid[first].data(), signs, codes);
    halved_codes(15, iq3s_grid[second].data(), signs >> 4, codes + 4);
  }
}

void iq1_s(const u8* block, u8* codes) {
  for (u32 run = 0; run < 32; ++run, codes += 8) {
    const u32 word = load<u16>(block + 34 + run / 4 * 2);
    const u32 entry = block[2 + run] | (word >> (3 * (run % 4)) & 7) << 8;
    for (u32 j = 0; j < 8; ++j) codes[j] = static_cast<u8>(iq1s_grid[entry][j] + 1);
  }
}

// Odd numbers from -135 to 135 (products of a scale and a multiple of an eighth), encoded as their distance from -135
// in steps of two.
void iq1_m(const u8* block, u8* codes) {
  const Iq1mScales scales = iq1_m_scales(block);
  for (u32 run = 0; run < 32; ++run, codes += 8) {
    const u32 part = run / 2;
    const u32 high = block[32 + part] >> (4 * (run % 2)) & 15u;
    const u32 entry = block[run] | (high & 7) << 8;
    const int scale = scales.of_part(part);
    const int shift = (high & 8) != 0 ? -1 : 1;
    for (u32 j = 0; j < 8; ++j) codes[j] = static_cast<u8>((scale * (8 * iq1s_grid[entry][j] + shift) + 135) / 2);
  }
}

// Five (or four) base-3 digits per byte, stored as a fraction of 256.
void tq1_0(const u8* block, u8* codes) {
  static constexpr std::array<u32, 5> powers = {1, 3, 9, 27, 81};
  const auto digits = [&](u32 first, u32 width, u32 from, u32 count) {
    for (u32 n = 0; n < count; ++n) {
      for (u32 k = 0; k < width; ++k) {
        codes[first + n * width + k] = static_cast<u8>((block[from + k] * powers[n] & 255) * 3 >> 8);
      }
    }
  };
  digits(0, 32, 0, 5);
  digits(160, 16, 32, 5);
  digits(240, 4, 48, 4);
}

void tq2_0(const u8* block, u8* codes) {
  for (u32 plane = 0; plane < 8; ++plane, codes += 32) {
    const int shift = static_cast<int>(2 * (plane % 4));
    for (u32 j = 0; j < 32; ++j) codes[j] = block[32 * (plane / 4) + j] >> shift & 3;
  }
}

void q1_0(const u8* block, u8* codes) {
  for (u32 i = 0; i < 128; ++i) codes[i] = block[2 + i / 8] >> (i % 8) & 1;
}

void q2_0(const u8* block, u8* codes) {
  for (u32 i = 0; i < 64; ++i) codes[i] = block[2 + i / 4] >> (2 * (i % 4)) & 3;
}

// Low nibbles are the first half of each part of 16.
void nvfp4(const u8* block, u8* codes) {
  for (u32 part = 0; part < 4; ++part, codes += 16) {
    const u8* bytes = block + 4 + 8 * part;
    for (u32 i = 0; i < 8; ++i) codes[i] = bytes[i] & 15;
    for (u32 i = 0; i < 8; ++i) codes[8 + i] = bytes[i] >> 4;
  }
}

}  // namespace

TakeCodes* codes_of(TensorType type) {
  switch (type) {
    case TensorType::Q4_0: return nibbles<2>;
    case TensorType::Q4_1: return nibbles<4>;
    case TensorType::Q5_0: return five_bits<6>;
    case TensorType::Q5_1: return five_bits<8>;
    case TensorType::Q8_0: return q8_0;
    case TensorType::Q3_K: return q3_k;
    case TensorType::Q4_K: return q4_k;
    case TensorType::Q5_K: return q5_k;
    case TensorType::IQ4_NL: return levels<2>;
    case TensorType::IQ4_XS: return iq4_xs;
    case TensorType::IQ2_XXS: return iq2_xxs;
    case TensorType::IQ3_XXS: return iq3_xxs;
    case TensorType::IQ3_S: return iq3_s;
    case TensorType::IQ1_S: return iq1_s;
    case TensorType::IQ1_M: return iq1_m;
    case TensorType::TQ1_0: return tq1_0;
    case TensorType::TQ2_0: return tq2_0;
    case TensorType::Q1_0: return q1_0;
    case TensorType::Q2_0: return q2_0;
    case TensorType::MXFP4: return nibbles<1>;
    case TensorType::NVFP4: return nvfp4;
    default: return nullptr;
  }
}

namespace {

float half_at(const u8* at) {
  return f16_to_f32(load<u16>(at));
}

void k_blocks(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  const float dmin = half_at(block + 2);
  for (u32 k = 0; k < 8; ++k) {
    const ScaleAndMin pair = scale_and_min(block + 4, k);
    scales[k] = d * static_cast<float>(pair.scale);
    biases[k] = -(dmin * static_cast<float>(pair.min));
  }
}

// The product of a 6-bit scale and a 3-bit code gives an 8-bit code, counted down from 128.
void q3_k(const u8* block, float* scales, float* biases) {
  const float d = half_at(block + 108);
  scales[0] = scales[1] = -d;
  biases[0] = biases[1] = 128.0f * d;
}

// Two groups with the scale at offset AT. The middle of the three levels is 0.
template <u32 AT>
void ternary(const u8* block, float* scales, float* biases) {
  scales[0] = scales[1] = half_at(block + AT);
  biases[0] = biases[1] = -scales[0];
}

void iq4_xs(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    scales[g] = d * static_cast<float>(iq4_xs_scale(block, g));
    biases[g] = -128.0f * scales[g];
  }
}

void iq2_xxs(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    scales[g] = d * (0.5f + static_cast<float>(load<u32>(block + 6 + 8 * g) >> 28)) * 0.25f;
    biases[g] = -128.0f * scales[g];
  }
}

void iq3_xxs(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    scales[g] = 2.0f * (d * (0.5f + static_cast<float>(load<u32>(block + 66 + 4 * g) >> 28)) * 0.5f);
    biases[g] = -31.0f * scales[g];
  }
}

void iq3_s(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    const int scale = block[106 + g / 2] >> (4 * (g % 2)) & 15;
    const float db = d * static_cast<float>(1 + 2 * scale);
    scales[g] = 2.0f * db;
    biases[g] = -15.0f * db;
  }
}

void iq1_s(const u8* block, float* scales, float* biases) {
  const float d = half_at(block);
  for (u32 g = 0; g < 8; ++g) {
    const u32 word = load<u16>(block + 34 + 2 * g);
    scales[g] = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
    biases[g] = scales[g] * ((word & 0x8000) != 0 ? -1.125f : -0.875f);
  }
}

void iq1_m(const u8* block, float* scales, float* biases) {
  const float d = iq1_m_scales(block).d();
  scales[0] = scales[1] = 0.25f * d;
  biases[0] = biases[1] = -135.0f * d / 8.0f;
}

using TakeScales = void(const u8* block, float* scales, float* biases);

// For blocks that are one group: `scale` is a multiple of the F16 at the block's start, `bias` a multiple of the F16 at
// `bias_at`.
struct OneGroup {
  float scale = 0;
  u32 bias_at = 0;
  float bias = 0;
};
constexpr OneGroup with_offset = {1, 2, 1};
// The middle code is 0.
constexpr OneGroup symmetric(int zero) {
  return {1, 0, static_cast<float>(-zero)};
}

// One row of the table: the parameters of a type, and the function that extracts its scales.
struct Form {
  TensorType type;
  Params params;
  TakeScales* scales = nullptr;  // null if one_group describes them, and in the FP modes
  OneGroup one_group = {};
  bool has_products = false;  // scales are products of two numbers in the block
};
constexpr Form forms[] = {
    {TensorType::Q4_0, {Mode::affine, 4, 32}, nullptr, symmetric(8)},
    {TensorType::Q4_1, {Mode::affine, 4, 32}, nullptr, with_offset},
    {TensorType::Q5_0, {Mode::affine, 5, 32}, nullptr, symmetric(16)},
    {TensorType::Q5_1, {Mode::affine, 5, 32}, nullptr, with_offset},
    {TensorType::Q8_0, {Mode::affine, 8, 32}, nullptr, symmetric(128)},
    {TensorType::Q3_K, {Mode::affine, 8, 128}, q3_k},
    {TensorType::Q4_K, {Mode::affine, 4, 32}, k_blocks, {}, true},
    {TensorType::Q5_K, {Mode::affine, 5, 32}, k_blocks, {}, true},
    {TensorType::IQ4_NL, {Mode::affine, 8, 32}, nullptr, symmetric(128)},
    {TensorType::IQ4_XS, {Mode::affine, 8, 32}, iq4_xs, {}, true},
    {TensorType::IQ2_XXS, {Mode::affine, 8, 32}, iq2_xxs, {}, true},
    {TensorType::IQ3_XXS, {Mode::affine, 6, 32}, iq3_xxs, {}, true},
    {TensorType::IQ3_S, {Mode::affine, 4, 32}, iq3_s, {}, true},
    {TensorType::IQ1_S, {Mode::affine, 2, 32}, iq1_s, {}, true},
    {TensorType::IQ1_M, {Mode::affine, 8, 128}, iq1_m, {}, true},
    {TensorType::TQ1_0, {Mode::affine, 2, 128}, ternary<52>},
    {TensorType::TQ2_0, {Mode::affine, 2, 128}, ternary<64>},
    {TensorType::Q1_0, {Mode::affine, 2, 128}, nullptr, {2, 0, -1}},
    {TensorType::Q2_0, {Mode::affine, 2, 64}, nullptr, symmetric(1)},
    {TensorType::MXFP4, {Mode::mxfp4, 4, 32}},
    {TensorType::NVFP4, {Mode::nvfp4, 4, 16}},
};

const Form* form_of(TensorType type) {
  const auto* found =
      std::find_if(std::begin(forms), std::end(forms), [&](const Form& form) { return form.type == type; });
  return found == std::end(forms) ? nullptr : found;
}

}  // namespace

std::optional<Params> exact_params(TensorType type) {
  const Form* form = form_of(type);
  return form == nullptr ? std::nullopt : std::optional(form->params);
}

bool has_product_scales(TensorType type) {
  const Form* form = form_of(type);
  return form != nullptr && form->has_products;
}

void take_scales(TensorType type, Bytes blocks, std::span<float> scales, std::span<float> biases,
                 Instructions instructions) {
  const Form& form = *form_of(type);
  const TypeInfo& info = type_info(type);
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  if (form.scales == nullptr) {
    widen_f16(blocks.data(), info.block_bytes, scales, instructions);
    if (form.one_group.bias_at == 0) {
      std::copy(scales.begin(), scales.end(), biases.begin());
    } else {
      widen_f16(blocks.data() + form.one_group.bias_at, info.block_bytes, biases, instructions);
    }
    for (float& scale : scales) scale *= form.one_group.scale;
    for (float& bias : biases) bias *= form.one_group.bias;
    return;
  }
  const u32 groups = info.block_elements / form.params.group_size;
  for (std::size_t g = 0; g + groups <= scales.size(); g += groups, in += info.block_bytes) {
    form.scales(in, scales.data() + g, biases.data() + g);
  }
}

void take_scale_bytes(TensorType type, Bytes blocks, std::span<u8> scales) {
  const u32 groups = type_info(type).block_elements / form_of(type)->params.group_size;
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  for (std::size_t g = 0; g + groups <= scales.size(); g += groups, in += type_info(type).block_bytes) {
    std::copy_n(in, groups, scales.data() + g);
  }
}

u64 foreign_scale_bytes(TensorType type, std::span<const u8> scales) {
  const u8 first = type == TensorType::MXFP4 ? 0xFF : 0x7F;
  return static_cast<u64>(std::count_if(scales.begin(), scales.end(), [&](u8 scale) { return scale >= first; }));
}

void take_codes(TensorType type, Bytes blocks, std::span<u8> codes) {
  const TypeInfo& info = type_info(type);
  TakeCodes* const take = codes_of(type);
  const u8* in = reinterpret_cast<const u8*>(blocks.data());
  for (std::size_t i = 0; i + info.block_elements <= codes.size(); i += info.block_elements, in += info.block_bytes) {
    take(in, codes.data() + i);
  }
}

void pack_codes(u32 bits, std::span<const u8> codes, MutableBytes packed) {
  const u8* in = codes.data();
  u8* out = reinterpret_cast<u8*>(packed.data());
  switch (bits) {
    case 8: std::copy_n(in, codes.size(), out); return;
    case 4:
      for (std::size_t i = 0; i < codes.size() / 2; ++i) out[i] = static_cast<u8>(in[2 * i] | in[2 * i + 1] << 4);
      return;
    case 2:
      for (std::size_t i = 0; i < codes.size() / 4; ++i, in += 4) {
        out[i] = static_cast<u8>(in[0] | in[1] << 2 | in[2] << 4 | in[3] << 6);
      }
      return;
    default: break;
  }
  for (std::size_t i = 0; i < codes.size(); i += 8, out += bits) {
    const u64 word = join_codes(load<u64>(in + i), bits);
    for (u32 k = 0; k < bits; ++k) out[k] = static_cast<u8>(word >> (8 * k));
  }
}

}  // namespace modelutils::mlx
