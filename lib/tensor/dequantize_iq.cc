// Codebook blocks of 256 elements (docs/formats/blocks.md, section 3). g counts groups of 32 elements, l runs of 8 in a
// group, j elements in a run.
#include "base/byte_reader.h"
#include "tensor/block_decoders.h"
#include "tensor/block_fields.h"
#include "tensor/codebooks.h"
#include "tensor/half.h"

namespace modelutils::decode {
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
