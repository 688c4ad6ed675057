// IQ3_XXS and IQ3_S.
#include "tensor/quantize/grid_search.h"
#include "tensor/quantize/quantize.h"

namespace modelutils::encode {
namespace {

[[gnu::always_inline]] inline void weigh_or_square(const float* x, const float* importance, float spread, float* out) {
  if (importance != nullptr) return weigh(x, importance, spread, 32, out);
  for (u32 i = 0; i < 32; ++i) out[i] = x[i] * x[i];
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq3_xxs(const float* values, const float* importance, const Grid& grid,
                                                  u8* out) {
  std::memset(out, 0, 98);
  const float spread = 2 * sum_of_squares(values, 256) / 256;
  float scales[8];
  u32 words[8] = {};
  u8 indexes[64] = {};
  float largest = 0;
  for (u32 g = 0; g < 8; ++g) {
    const float* x = values + 32 * g;
    GridGroup<WIDTH, 32, 4> group;
    weigh_or_square(x, importance == nullptr ? nullptr : importance + 32 * g, spread, group.weights);
    group.set_roots();
    u32 signs[4];
    for (u32 k = 0; k < 4; ++k) signs[k] = split_even_signs(x + 8 * k, group.weights + 8 * k, group.x + 8 * k);
    scales[g] = 0;
    const float max = *std::max_element(group.x, group.x + 32);
    if (max < 1e-8f) continue;
    float scale = group.try_scales(grid, {.base = 15, .step = 0.2f, .tries = 15}, max, max / 15, true);
    scale = group.refine(grid, scale, false, false);
    const u32 flip = scale < 0 ? 127 : 0;
    for (u32 k = 0; k < 8; ++k) indexes[8 * g + k] = static_cast<u8>(grid.index(group.patterns[k]));
    for (u32 k = 0; k < 4; ++k) words[g] |= (signs[k] ^ flip) << (7 * k);
    scales[g] = magnitude_of(scale);
    largest = std::max(largest, scales[g]);
  }
  if (largest == 0) return;
  const float d = largest / 31;
  const float inverse = 1 / d;
  put_half(out, d * 1.0125f);
  std::memcpy(out + 2, indexes, 64);
  for (u32 g = 0; g < 8; ++g) put_u32(out + 66 + 4 * g, words[g] | scale_code(inverse, scales[g], 15) << 28);
}

// ggml stores the indexes and signs of groups that are not all zero without gaps, so that those after a zero group are
// misplaced. `correct` stores them where the decoder reads them.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq3_s(const float* values, const float* importance, const Grid& grid,
                                                bool correct, u8* out) {
  std::memset(out, 0, 110);
  const float spread = 2 * sum_of_squares(values, 256) / 256;
  float scales[8];
  float largest = 0;
  u32 place = 0;
  for (u32 g = 0; g < 8; ++g) {
    const float* x = values + 32 * g;
    GridGroup<WIDTH, 32, 4> group;
    weigh_or_square(x, importance == nullptr ? nullptr : importance + 32 * g, spread, group.weights);
    group.set_roots();
    u32 signs[4];
    for (u32 k = 0; k < 4; ++k) signs[k] = split_signs(x + 8 * k, group.x + 8 * k);
    scales[g] = 0;
    const float max = *std::max_element(group.x, group.x + 32);
    if (max == 0) continue;
    float scale = group.try_scales(grid, {.base = 15, .step = 0.2f, .tries = 9}, max, max / 15, false);
    scale = group.refine(grid, scale, false, true);
    const u32 flip = scale < 0 ? 255 : 0;
    if (correct) place = g;
    for (u32 k = 0; k < 8; ++k) {
      const u32 index = static_cast<u32>(grid.index(group.patterns[k]));
      out[2 + 8 * place + k] = static_cast<u8>(index);
      out[66 + g] = static_cast<u8>(out[66 + g] | index >> 8 << k);
    }
    for (u32 k = 0; k < 4; ++k) out[74 + 4 * place + k] = static_cast<u8>(signs[k] ^ flip);
    ++place;
    scales[g] = magnitude_of(scale);
    largest = std::max(largest, scales[g]);
  }
  if (largest == 0) return;
  const float d = largest / 31;
  const float inverse = 1 / d;
  put_half(out, d * 1.033f);
  for (u32 k = 0; k < 4; ++k) {
    out[106 + k] =
        static_cast<u8>(scale_code(inverse, scales[2 * k], 15) | scale_code(inverse, scales[2 * k + 1], 15) << 4);
  }
}

}  // namespace

void iq3_xxs(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ3_XXS);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 98, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq3_xxs<decltype(width)::value>(values, importance, grid, out);
            });
      });
}

void iq3_s(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ3_S);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 110, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq3_s<decltype(width)::value>(values, importance, grid, rows.correct, out);
            });
      });
}

}  // namespace modelutils::encode
