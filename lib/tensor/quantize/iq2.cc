// IQ2_XXS, IQ2_XS and IQ2_S.
#include "tensor/quantize/grid_search.h"
#include "tensor/quantize/quantize.h"
#include "tensor/quantize/searches.h"

namespace modelutils::encode {
namespace {

constexpr GridTries iq2_tries{.base = 5, .step = 0.1f, .tries = 9};

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq2_xxs(const float* values, const float* importance, const Grid& grid,
                                                  u8* out) {
  std::memset(out, 0, 66);
  const float spread = sum_of_squares(values, 256) / 256;
  float scales[8];
  u32 words[8][2] = {};
  float largest = 0;
  for (u32 g = 0; g < 8; ++g) {
    const float* x = values + 32 * g;
    GridGroup<WIDTH, 32, 8> group;
    weigh(x, importance + 32 * g, spread, 32, group.weights);
    group.set_roots();
    u32 signs[4];
    for (u32 k = 0; k < 4; ++k) signs[k] = split_even_signs(x + 8 * k, group.weights + 8 * k, group.x + 8 * k);
    scales[g] = 0;
    if (*std::max_element(group.x, group.x + 32) < negligible) continue;
    u8 levels[32];
    float scale = fit_positive_scale(group.x, group.weights, 32, 4, levels);
    const float divisor = scale * 3;
    if (divisor <= 0) continue;
    scale = group.try_scales(grid, {.base = 5, .step = 0.1f, .tries = 6}, divisor, scale, true);
    scale = group.refine(grid, scale, true, true);
    const u32 flip = scale < 0 ? 127 : 0;
    for (u32 k = 0; k < 4; ++k) {
      words[g][0] |= static_cast<u32>(grid.index(group.patterns[k])) << (8 * k);
      words[g][1] |= (signs[k] ^ flip) << (7 * k);
    }
    scales[g] = magnitude_of(scale);
    largest = std::max(largest, scales[g]);
  }
  if (largest == 0) return;
  const float d = largest / 31;
  const float inverse = 1 / d;
  put_half(out, d);
  for (u32 g = 0; g < 8; ++g) {
    put_u32(out + 2 + 8 * g, words[g][0]);
    put_u32(out + 6 + 8 * g, words[g][1] | scale_code(inverse, scales[g], 15) << 28);
  }
}

// Stores the codes of sixteen scales as nibbles.
[[gnu::always_inline]] inline void put_scale_codes(const float* scales, float d, u8* out) {
  const float inverse = 1 / d;
  for (u32 k = 0; k < 8; ++k) {
    out[k] = static_cast<u8>(scale_code(inverse, scales[2 * k], 15) | scale_code(inverse, scales[2 * k + 1], 15) << 4);
  }
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq2_xs(const float* values, const float* importance, const Grid& grid,
                                                 u8* out) {
  std::memset(out, 0, 74);
  const float spread = sum_of_squares(values, 256) / 256;
  float scales[16];
  u32 codes[32] = {};
  float largest = 0;
  for (u32 g = 0; g < 16; ++g) {
    const float* x = values + 16 * g;
    GridGroup<WIDTH, 16, 8> group;
    weigh(x, importance + 16 * g, spread, 16, group.weights);
    group.set_roots();
    u32 signs[2];
    for (u32 k = 0; k < 2; ++k) signs[k] = split_even_signs(x + 8 * k, group.weights + 8 * k, group.x + 8 * k);
    scales[g] = 0;
    const float max = *std::max_element(group.x, group.x + 16);
    if (max < negligible) continue;
    float scale = group.try_scales(grid, iq2_tries, max, max / 5, true);
    scale = group.refine(grid, scale, false, false);
    const u32 flip = scale < 0 ? 127 : 0;
    for (u32 k = 0; k < 2; ++k) {
      codes[2 * g + k] = static_cast<u32>(grid.index(group.patterns[k])) | (signs[k] ^ flip) << 9;
    }
    scales[g] = magnitude_of(scale);
    largest = std::max(largest, scales[g]);
  }
  if (largest == 0) return;
  const float d = largest / 31;
  put_half(out, d);
  for (u32 k = 0; k < 32; ++k) put_u16(out + 2 + 2 * k, codes[k]);
  put_scale_codes(scales, d, out + 66);
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq2_s(const float* values, const float* importance, const Grid& grid,
                                                u8* out) {
  std::memset(out, 0, 82);
  const float spread = 2 * sum_of_squares(values, 256) / 256;
  float scales[16];
  float largest = 0;
  for (u32 g = 0; g < 16; ++g) {
    const float* x = values + 16 * g;
    GridGroup<WIDTH, 16, 8> group;
    if (importance != nullptr) {
      weigh(x, importance + 16 * g, spread, 16, group.weights);
    } else {
      for (u32 i = 0; i < 16; ++i) group.weights[i] = 0.25f * spread + x[i] * x[i];
    }
    group.set_roots();
    u32 signs[2];
    for (u32 k = 0; k < 2; ++k) signs[k] = split_signs(x + 8 * k, group.x + 8 * k);
    scales[g] = 0;
    const float max = *std::max_element(group.x, group.x + 16);
    if (max < 1e-8f) continue;
    float scale = group.try_scales(grid, iq2_tries, max, max / 5, true);
    scale = group.refine(grid, scale, false, false);
    const u32 flip = scale < 0 ? 255 : 0;
    for (u32 k = 0; k < 2; ++k) {
      const u32 index = static_cast<u32>(grid.index(group.patterns[k]));
      const u32 set = 2 * g + k;
      out[2 + set] = static_cast<u8>(index);
      out[34 + set] = static_cast<u8>(signs[k] ^ flip);
      out[66 + set / 4] = static_cast<u8>(out[66 + set / 4] | index >> 8 << (2 * (set % 4)));
    }
    scales[g] = magnitude_of(scale);
    largest = std::max(largest, scales[g]);
  }
  if (largest == 0) return;
  const float d = largest / 31;
  put_half(out, d * 0.9875f);
  put_scale_codes(scales, d, out + 74);
}

}  // namespace

void iq2_xxs(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ2_XXS);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 66, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq2_xxs<decltype(width)::value>(values, importance, grid, out);
            });
      });
}

void iq2_xs(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ2_XS);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 74, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq2_xs<decltype(width)::value>(values, importance, grid, out);
            });
      });
}

void iq2_s(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ2_S);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 82, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq2_s<decltype(width)::value>(values, importance, grid, out);
            });
      });
}

}  // namespace modelutils::encode
