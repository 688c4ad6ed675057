#include "tensor/dequantize.h"

#include <bit>
#include <cstring>

#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/codebooks.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

decode::Decoder* decoder_of(TensorType type) {
  switch (type) {
#define MU_TYPE_DECODER(name, value, elements, bytes, gguf, safetensors, quantized, decoder) \
  case TensorType::name: return decode::decoder;
    MU_TENSOR_TYPES(MU_TYPE_DECODER)
#undef MU_TYPE_DECODER
  }
  return decode::none;
}

}  // namespace

bool has_decoder(TensorType type) {
  return decoder_of(type) != decode::none;
}

void decode::none(const Blocks&) {}

void dequantize(TensorType type, Bytes blocks, std::span<float> out, Instructions instructions) {
  decoder_of(type)({reinterpret_cast<const u8*>(blocks.data()), out.data(), out.size() / type_info(type).block_elements,
                    instructions});
}

}  // namespace modelutils

namespace modelutils::decode {

// Types without scales: floats of every size and integers.

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

// Codebook blocks of 256 elements (docs/formats/blocks.md, section 3). g counts groups of 32 elements, l runs of 8 in a
// group, j elements in a run.

namespace {

float sign_of(u32 signs, u32 j) {
  return (signs >> j & 1) != 0 ? -1.0f : 1.0f;
}

// Decodes eight values: scale × magnitude × sign.
void signed_run(float scale, const i8* magnitudes, u32 signs, float* y) {
  for (u32 j = 0; j < 8; ++j) y[j] = scale * static_cast<float>(magnitudes[j]) * sign_of(signs, j);
}

// The same, with magnitudes from two codebook entries of four.
void signed_run(float scale, const i8* first, const i8* second, u32 signs, float* y) {
  for (u32 j = 0; j < 4; ++j) y[j] = scale * static_cast<float>(first[j]) * sign_of(signs, j);
  for (u32 j = 0; j < 4; ++j) y[4 + j] = scale * static_cast<float>(second[j]) * sign_of(signs, 4 + j);
}

// Decodes eight ternary values with a shift: scale × (value + shift).
void shifted_run(float scale, const i8* values, float shift, float* y) {
  for (u32 j = 0; j < 8; ++j) y[j] = scale * (static_cast<float>(values[j]) + shift);
}

}  // namespace

void iq2_xxs(const Blocks& blocks) {
  for_blocks(TensorType::IQ2_XXS, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 g = 0; g < 8; ++g) {
      const u8* group = block + 2 + 8 * g;
      const u32 word = load<u32>(group + 4);
      const float db = d * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
      for (u32 l = 0; l < 4; ++l, y += 8) {
        signed_run(db, iq2xxs_grid[group[l]].data(), even_signs(word >> (7 * l) & 127), y);
      }
    }
  });
}

void iq2_xs(const Blocks& blocks) {
  for_blocks(TensorType::IQ2_XS, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 run = 0; run < 32; ++run, y += 8) {
      const u32 code = load<u16>(block + 2 + 2 * run);
      const u32 scale = block[66 + run / 4] >> (4 * (run / 2 % 2)) & 15u;
      const float db = d * (0.5f + static_cast<float>(scale)) * 0.25f;
      signed_run(db, iq2xs_grid[code & 511].data(), even_signs(code >> 9), y);
    }
  });
}

void iq2_s(const Blocks& blocks) {
  for_blocks(TensorType::IQ2_S, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 run = 0; run < 32; ++run, y += 8) {
      const u32 entry = block[2 + run] | (block[66 + run / 4] >> (2 * (run % 4)) & 3u) << 8;
      const u32 scale = block[74 + run / 4] >> (4 * (run / 2 % 2)) & 15u;
      const float db = d * (0.5f + static_cast<float>(scale)) * 0.25f;
      signed_run(db, iq2s_grid[entry].data(), block[34 + run], y);
    }
  });
}

void iq3_xxs(const Blocks& blocks) {
  for_blocks(TensorType::IQ3_XXS, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 g = 0; g < 8; ++g) {
      const u32 word = load<u32>(block + 66 + 4 * g);
      const float db = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      for (u32 l = 0; l < 4; ++l, y += 8) {
        const u8* entries = block + 2 + 8 * g + 2 * l;
        signed_run(db, iq3xxs_grid[entries[0]].data(), iq3xxs_grid[entries[1]].data(),
                   even_signs(word >> (7 * l) & 127), y);
      }
    }
  });
}

void iq3_s(const Blocks& blocks) {
  for_blocks(TensorType::IQ3_S, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 run = 0; run < 32; ++run, y += 8) {
      const u32 g = run / 4;
      const int scale = block[106 + g / 2] >> (4 * (g % 2)) & 15;
      const float db = d * static_cast<float>(1 + 2 * scale);
      const u32 first_bit = 2 * (run % 4);
      const u32 first = block[2 + 2 * run] | (block[66 + g] >> first_bit & 1u) << 8;
      const u32 second = block[3 + 2 * run] | (block[66 + g] >> (first_bit + 1) & 1u) << 8;
      signed_run(db, iq3s_grid[first].data(), iq3s_grid[second].data(), block[74 + run], y);
    }
  });
}

void iq1_s(const Blocks& blocks) {
  for_blocks(TensorType::IQ1_S, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 g = 0; g < 8; ++g) {
      const u32 word = load<u16>(block + 34 + 2 * g);
      const float dl = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
      const float shift = (word & 0x8000) != 0 ? -0.125f : 0.125f;
      for (u32 l = 0; l < 4; ++l, y += 8) {
        const u32 entry = block[2 + 4 * g + l] | (word >> (3 * l) & 7) << 8;
        shifted_run(dl, iq1s_grid[entry].data(), shift, y);
      }
    }
  });
}

void iq1_m(const Blocks& blocks) {
  for_blocks(TensorType::IQ1_M, blocks, [](const u8* block, float* y) {
    const Iq1mScales scales = iq1_m_scales(block);
    const float d = scales.d();
    for (u32 run = 0; run < 32; ++run, y += 8) {
      const u32 part = run / 2;
      const u32 high = block[32 + part] >> (4 * (run % 2)) & 15u;
      const u32 entry = block[run] | (high & 7) << 8;
      const float dl = d * static_cast<float>(scales.of_part(part));
      shifted_run(dl, iq1s_grid[entry].data(), (high & 8) != 0 ? -0.125f : 0.125f, y);
    }
  });
}

void iq4_xs(const Blocks& blocks) {
  for_blocks(TensorType::IQ4_XS, blocks, [](const u8* block, float* y) {
    const float d = half_at(block);
    for (u32 g = 0; g < 8; ++g) {
      const float dl = d * static_cast<float>(iq4_xs_scale(block, g));
      look_up_nibbles(block + 8 + 16 * g, iq4nl_values, dl, y + 32 * g);
    }
  });
}

}  // namespace modelutils::decode
