// IQ1_S and IQ1_M: three levels, shifted up or down by an eighth. Tries every way to cut a group's sorted values in two
// places; sets off the grid then move to a neighbour.
#include <numeric>

#include "tensor/quantize/grid_search.h"
#include "tensor/quantize/quantize.h"

namespace modelutils::encode {
namespace {

constexpr float eighth = 0.125f;
// The levels for both shifts, indexed by the low three bits at a level's position in a pattern. The third bit belongs
// to the next level, so the entries repeat.
constexpr float up[8] = {-1 + eighth, eighth, 1 + eighth, 0, -1 + eighth, eighth, 1 + eighth, 0};
constexpr float down[8] = {-1 - eighth, -eighth, 1 - eighth, 0, -1 - eighth, -eighth, 1 - eighth, 0};

// The best cuts of a group, with their scale and shifts.
struct Cuts {
  float score = -FLT_MAX;
  float scale = 0;
  u32 first = 0, second = 0;
  int shifts = -1;  // index of the shifts in the candidates; -1 if no cut is usable

  [[gnu::always_inline]] void offer(float sum_qx, float sum_q2, u32 i1, u32 i2, int which) {
    if (!(sum_q2 > 0 && sum_qx * sum_qx > score * sum_q2)) return;
    scale = sum_qx / sum_q2;
    score = scale * sum_qx;
    first = i1;
    second = i2;
    shifts = which;
  }
};

// Tries every pair of cuts i1 ≤ i2 in order. candidates(i1, i2, numerators, denominators) computes, for CHOICES shifts,
// the values for the lanes' i2.
template <std::size_t WIDTH, u32 COUNT, u32 CHOICES, typename Candidates>
[[gnu::always_inline]] inline Cuts best_cuts(const Candidates& candidates) {
  using L = Lanes<WIDTH>;
  Cuts best;
  for (u32 i1 = 0; i1 <= COUNT; ++i1) {
    for (u32 i2 = i1; i2 <= COUNT; i2 += L::count) {
      typename L::Floats qx[CHOICES], q2[CHOICES];
      candidates(i1, i2, qx, q2);
      typename L::Ints better{};
      for (u32 k = 0; k < CHOICES; ++k) better |= (q2[k] > typename L::Floats{}) & (qx[k] * qx[k] > best.score * q2[k]);
      if (!any_lane(better)) continue;
      for (u32 lane = 0; lane < L::count && i2 + lane <= COUNT; ++lane) {
        for (u32 k = 0; k < CHOICES; ++k) best.offer(qx[k][lane], q2[k][lane], i1, i2 + lane, static_cast<int>(k));
      }
    }
  }
  return best;
}

// Sorts the values' indexes; stable.
template <u32 COUNT>
[[gnu::always_inline]] inline void sort_values(const float* x, u8 (&order)[COUNT]) {
  for (u32 i = 0; i < COUNT; ++i) {
    u32 at = i;
    for (; at > 0 && x[order[at - 1]] > x[i]; --at) order[at] = order[at - 1];
    order[at] = static_cast<u8>(i);
  }
}

// Computes the sets' patterns for these cuts; reverses the levels if the scale is negative.
template <u32 COUNT>
[[gnu::always_inline]] inline void cut_patterns(const Cuts& cuts, const u8 (&order)[COUNT], u32* patterns) {
  std::fill_n(patterns, COUNT / 8, 0u);
  for (u32 i = 0; i < COUNT; ++i) {
    const u32 level = i < cuts.first ? 0 : i < cuts.second ? 1 : 2;
    patterns[order[i] / 8] |= (cuts.scale < 0 ? 2 - level : level) << (2 * (order[i] % 8));
  }
}

// Moves the sets onto the grid; refits the scale if a set was off it. `levels` has the levels of each set.
template <std::size_t WIDTH, u32 SETS>
[[gnu::always_inline]] inline float move_onto_grid(const Grid& grid, const float* x, const float* weights, float scale,
                                                   const float (*const (&levels)[SETS])[8], u32* patterns) {
  bool all_on_grid = true;
  for (u32 k = 0; k < SETS; ++k) {
    if (grid.index(patterns[k]) >= 0) continue;
    all_on_grid = false;
    patterns[k] =
        nearest_neighbour<WIDTH, 8, 2>(grid.neighbours(patterns[k]), x + 8 * k, weights + 8 * k, scale, *levels[k]);
  }
  if (all_on_grid) return scale;
  float sum_qx = 0;
  float sum_q2 = 0;
  for (u32 i = 0; i < 8 * SETS; ++i) {
    const float q = (*levels[i / 8])[patterns[i / 8] >> (2 * (i % 8)) & 3];
    sum_qx += weights[i] * q * x[i];
    sum_q2 += weights[i] * q * q;
  }
  return sum_qx > 0 && sum_q2 > 0 ? sum_qx / sum_q2 : scale;
}

[[gnu::always_inline]] inline float largest_in(const float* x, u32 count) {
  float largest = 0;
  for (u32 i = 0; i < count; ++i) largest = std::max(largest, magnitude_of(x[i]));
  return largest;
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq1_s(const float* values, const float* importance, const Grid& grid,
                                                u8* out) {
  using Floats = typename Lanes<WIDTH>::Floats;
  constexpr u32 count = 32;
  std::memset(out, 0, 50);
  const float spread = 2 * sum_of_squares(values, 256) / 256;
  float scales[8];
  u32 words[8] = {};
  bool goes_down[8] = {};
  float largest = 0;
  for (u32 g = 0; g < 8; ++g) {
    const float* x = values + count * g;
    float weights[count];
    weigh(x, importance + count * g, spread, count, weights);
    scales[g] = 0;
    if (largest_in(x, count) < 1e-12f) continue;
    u8 order[count];
    sort_values(x, order);
    // Sums up to each cut, padded so that a vector can be loaded at the last one.
    float sum_x[count + 9] = {};
    float sum_w[count + 9] = {};
    for (u32 i = 0; i < count; ++i) {
      sum_x[i + 1] = sum_x[i] + weights[order[i]] * x[order[i]];
      sum_w[i + 1] = sum_w[i] + weights[order[i]];
    }
    const Cuts cuts =
        best_cuts<WIDTH, count, 2>([&](u32 i1, u32 i2, Floats * qx, Floats * q2) __attribute__((always_inline)) {
          Floats x2, w2;
          std::memcpy(&x2, sum_x + i2, sizeof x2);
          std::memcpy(&w2, sum_w + i2, sizeof w2);
          for (u32 k = 0; k < 2; ++k) {
            const float* level = k == 0 ? up : down;
            qx[k] = sum_x[i1] * level[0] + (x2 - sum_x[i1]) * level[1] + (sum_x[count] - x2) * level[2];
            q2[k] = sum_w[i1] * level[0] * level[0] + (w2 - sum_w[i1]) * level[1] * level[1] +
                    (sum_w[count] - w2) * level[2] * level[2];
          }
        });
    if (cuts.shifts < 0) continue;
    u32 patterns[4];
    cut_patterns(cuts, order, patterns);
    goes_down[g] = (cuts.shifts == 1) != (cuts.scale < 0);
    const auto* levels = goes_down[g] ? &down : &up;
    const float(*const of_sets[4])[8] = {levels, levels, levels, levels};
    scales[g] = move_onto_grid<WIDTH, 4>(grid, x, weights, magnitude_of(cuts.scale), of_sets, patterns);
    for (u32 k = 0; k < 4; ++k) {
      const u32 index = static_cast<u32>(grid.index(patterns[k]));
      out[2 + 4 * g + k] = static_cast<u8>(index);
      words[g] |= index >> 8 << (3 * k);
    }
    largest = std::max(largest, scales[g]);
  }
  const float d = largest / 15;
  const float inverse = 1 / d;
  if (largest != 0) put_half(out, d * 1.125f);
  for (u32 g = 0; g < 8; ++g) {
    if (largest != 0) words[g] |= (scale_code(inverse, scales[g], 7) | (goes_down[g] ? 8u : 0u)) << 12;
    put_u16(out + 34 + 2 * g, words[g]);
  }
}

// Returns the levels of set 0 or 1 of an IQ1_M group with these shifts.
[[gnu::always_inline]] inline const float (*levels_of_set(int shifts, u32 set))[8] {
  const bool is_down = set == 0 ? shifts >= 2 : shifts % 2 != 0;
  return is_down ? &down : &up;
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq1_m(const float* values, const float* importance, const Grid& grid,
                                                u8* out) {
  using Floats = typename Lanes<WIDTH>::Floats;
  constexpr u32 count = 16;
  std::memset(out, 0, 56);
  const float spread = 2 * sum_of_squares(values, 256) / 256;
  float weights[256];
  if (importance != nullptr) {
    weigh(values, importance, spread, 256, weights);
  } else {
    for (u32 i = 0; i < 256; ++i) weights[i] = values[i] * values[i];
  }
  float scales[16];
  int shifts[16] = {};
  // Groups without a valid cut keep index 0, which means eight times -1.
  u32 patterns[32] = {};
  float largest = 0;
  for (u32 g = 0; g < 16; ++g) {
    const float* x = values + count * g;
    const float* w = weights + count * g;
    scales[g] = 0;
    if (largest_in(x, count) < 1e-7f) continue;
    u8 order[count];
    sort_values(x, order);
    // Sums up to each cut, separately for the elements of the first and the second set.
    float sum_x[2][count + 9] = {};
    float sum_w[2][count + 9] = {};
    for (u32 i = 0; i < count; ++i) {
      const u32 at = order[i];
      for (u32 half = 0; half < 2; ++half) {
        const bool belongs = at / 8 == half;
        sum_x[half][i + 1] = belongs ? sum_x[half][i] + w[at] * x[at] : sum_x[half][i];
        sum_w[half][i + 1] = belongs ? sum_w[half][i] + w[at] : sum_w[half][i];
      }
    }
    const Cuts cuts =
        best_cuts<WIDTH, count, 4>([&](u32 i1, u32 i2, Floats * qx, Floats * q2) __attribute__((always_inline)) {
          Floats half_qx[2][2], half_q2[2][2];  // by half; shifted up, shifted down
          for (u32 half = 0; half < 2; ++half) {
            Floats x2, w2;
            std::memcpy(&x2, sum_x[half] + i2, sizeof x2);
            std::memcpy(&w2, sum_w[half] + i2, sizeof w2);
            const Floats both = sum_x[half][i1] + x2;
            for (u32 k = 0; k < 2; ++k) {
              const float* level = k == 0 ? up : down;
              const float below = level[0] * level[0] - level[1] * level[1];
              const float above = level[1] * level[1] - level[2] * level[2];
              half_qx[half][k] = sum_x[half][count] * level[2] - both;
              half_q2[half][k] = sum_w[half][count] * level[2] * level[2] + sum_w[half][i1] * below + w2 * above;
            }
          }
          for (u32 k = 0; k < 4; ++k) {
            qx[k] = half_qx[0][k / 2] + half_qx[1][k % 2];
            q2[k] = half_q2[0][k / 2] + half_q2[1][k % 2];
          }
        });
    if (cuts.shifts < 0) continue;
    cut_patterns(cuts, order, patterns + 2 * g);
    shifts[g] = cuts.scale < 0 ? 3 - cuts.shifts : cuts.shifts;
    const float(*const of_sets[2])[8] = {levels_of_set(shifts[g], 0), levels_of_set(shifts[g], 1)};
    scales[g] = move_onto_grid<WIDTH, 2>(grid, x, w, magnitude_of(cuts.scale), of_sets, patterns + 2 * g);
    for (u32 k = 0; k < 2; ++k) {
      const u32 index = static_cast<u32>(grid.index(patterns[2 * g + k]));
      out[2 * g + k] = static_cast<u8>(index);
      out[32 + g] = static_cast<u8>(out[32 + g] | index >> 8 << (4 * k));
    }
    largest = std::max(largest, scales[g]);
  }
  if (largest == 0) return;
  float d = largest / 15;
  const float inverse = 1 / d;
  u32 words[4] = {};
  float sum_qx = 0;
  float sum_q2 = 0;
  for (u32 g = 0; g < 16; ++g) {
    const u32 code = scale_code(inverse, scales[g], 7);
    words[g / 4] |= code << (3 * (g % 4));
    out[32 + g] = static_cast<u8>(out[32 + g] | (shifts[g] >= 2 ? 0x08 : 0) | (shifts[g] % 2 != 0 ? 0x80 : 0));
    for (u32 i = 0; i < count; ++i) {
      const float level = (*levels_of_set(shifts[g], i / 8))[patterns[2 * g + i / 8] >> (2 * (i % 8)) & 3];
      const float q = level * as_float(static_cast<int>(2 * code + 1));
      sum_qx += weights[count * g + i] * q * values[count * g + i];
      sum_q2 += weights[count * g + i] * q * q;
    }
  }
  if (sum_q2 > 0) d = sum_qx / sum_q2;
  const u32 half = static_cast<u32>(f16_bits<float>(d * 1.1125f));
  for (u32 k = 0; k < 4; ++k) put_u16(out + 48 + 2 * k, words[k] | (half >> (4 * k) & 15) << 12);
}

}  // namespace

void iq1_s(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ1_S);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 50, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq1_s<decltype(width)::value>(values, importance, grid, out);
            });
      });
}

void iq1_m(const Rows& rows) {
  const Grid& grid = Grid::of(TensorType::IQ1_S);
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 56, [&](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq1_m<decltype(width)::value>(values, importance, grid, out);
            });
      });
}

}  // namespace modelutils::encode
