#include "mlx/block_codes.h"

#include <array>

#include "base/byte_reader.h"
#include "tensor/block_fields.h"
#include "tensor/codebooks.h"

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

}  // namespace modelutils::mlx
