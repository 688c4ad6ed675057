// Searches for scales shared by several block types (docs/formats/quantize.md). Each vector lane is a separate
// sub-block; results do not depend on the number of lanes.
#pragma once

#include "tensor/quantize/lanes.h"

namespace modelutils::encode {

/// Magnitudes below this are treated as zero by most searches.
constexpr float negligible = 1e-15f;

/// The value with the largest magnitude, with its sign; the first if magnitudes are equal.
template <typename Floats>
struct Largest {
  Floats value;
  Floats magnitude;
};
template <u32 SIZE, typename Floats>
[[gnu::always_inline]] inline Largest<Floats> largest_of(const Floats* x) {
  Largest<Floats> largest{};
  for (u32 i = 0; i < SIZE; ++i) {
    const Floats magnitude = magnitude_of(x[i]);
    largest.value = magnitude > largest.magnitude ? x[i] : largest.value;
    largest.magnitude = magnitude > largest.magnitude ? magnitude : largest.magnitude;
  }
  return largest;
}

/// Finds a scale for levels -limit … limit - 1: tries inverse scales -(limit + 0.1·t) / largest for t from -9 to 9 and
/// keeps the one with the largest (Σwxl)² / Σwl². Stores levels with `limit` added. A sub-block of zeros gets scale 0
/// and level 0.
template <u32 SIZE, typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline Floats search_scale(const Floats* x, const Floats* weights, int limit, Ints* levels) {
  const Largest<Floats> largest = largest_of<SIZE>(x);
  const Ints is_zero = largest.magnitude < negligible;
  const Floats none{};
  const float float_limit = as_float(limit);
  // Avoids a division by zero for a zero sub-block, whose result is discarded.
  const Floats divisor = is_zero ? none + 1.0f : largest.value;

  const auto sums = [&](Floats inverse, Floats & sum_xl, Floats & sum_l2) __attribute__((always_inline)) {
    sum_xl = none;
    sum_l2 = none;
    for (u32 i = 0; i < SIZE; ++i) {
      const Floats level = as_float(clamped(nearest<Floats>(inverse * x[i]), -limit, limit - 1));
      sum_xl += weights[i] * x[i] * level;
      sum_l2 += weights[i] * level * level;
    }
  };
  Floats sum_xl, sum_l2;
  Floats best_inverse = -float_limit / divisor;
  sums(best_inverse, sum_xl, sum_l2);
  Floats scale = sum_l2 != none ? sum_xl / sum_l2 : none;
  Floats best = scale * sum_xl;
  for (int t = -9; t <= 9; ++t) {
    if (t == 0) continue;
    const Floats inverse = -(float_limit + 0.1f * as_float(t)) / divisor;
    sums(inverse, sum_xl, sum_l2);
    const Ints better = (sum_l2 > none) & (sum_xl * sum_xl > best * sum_l2);
    scale = better ? sum_xl / sum_l2 : scale;
    best = better ? scale * sum_xl : best;
    best_inverse = better ? inverse : best_inverse;
  }
  for (u32 i = 0; i < SIZE; ++i) {
    const Ints level = clamped(nearest<Floats>(best_inverse * x[i]), -limit, limit - 1) + limit;
    levels[i] = is_zero ? Ints{} : level;
  }
  return is_zero ? none : scale;
}

/// The parameters of search_scale_and_min().
struct MinSearch {
  int top;      ///< levels are 0 … top
  float first;  ///< inverse scales (first + step·t + top) / (max - min), t from 0 to tries
  float step;
  int tries;
  bool absolute;  ///< true: the error is Σw|diff|; false: Σw·diff²
};

template <typename Floats>
struct ScaleAndMin {
  Floats scale;
  Floats min;  ///< subtracted from scale·level; never negative
};

/// Fits value ≈ scale·level - min by least squares for the levels of each inverse scale, and keeps the fit with the
/// least error. Levels are counted from the best minimum so far.
template <u32 SIZE, typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline ScaleAndMin<Floats> search_scale_and_min(const Floats* x, const Floats* weights,
                                                                       const MinSearch& search, Ints* levels) {
  const Floats none{};
  Floats min = x[0];
  Floats max = x[0];
  Floats sum_w = weights[0];
  Floats sum_x = sum_w * x[0];
  for (u32 i = 1; i < SIZE; ++i) {
    min = x[i] < min ? x[i] : min;
    max = x[i] > max ? x[i] : max;
    sum_w += weights[i];
    sum_x += weights[i] * x[i];
  }
  min = min > none ? none : min;
  const Ints is_flat = max <= min;
  const float float_top = as_float(search.top);
  const auto difference = [&](Floats scale, Floats level, Floats from, Floats value) __attribute__((always_inline)) {
    const Floats diff = scale * level + from - value;
    return search.absolute ? magnitude_of(diff) : diff * diff;
  };

  const Floats flat_min = min;
  Floats level_inverse = float_top / (is_flat ? none + 1.0f : max - min);
  Floats level_min = min;
  Floats scale = 1.0f / level_inverse;
  Floats best{};
  for (u32 i = 0; i < SIZE; ++i) {
    const Floats level = as_float(clamped(nearest<Floats>(level_inverse * (x[i] - min)), 0, search.top));
    best += weights[i] * difference(scale, level, min, x[i]);
  }
  Floats tried[SIZE];
  for (int t = 0; t <= search.tries; ++t) {
    const Floats inverse = (search.first + search.step * as_float(t) + float_top) / (max - min);
    Floats sum_l{}, sum_l2{}, sum_xl{};
    for (u32 i = 0; i < SIZE; ++i) {
      tried[i] = as_float(clamped(nearest<Floats>(inverse * (x[i] - min)), 0, search.top));
      const Floats weighted = weights[i] * tried[i];
      sum_l += weighted;
      sum_l2 += weighted * tried[i];
      sum_xl += weighted * x[i];
    }
    const Floats determinant = sum_w * sum_l2 - sum_l * sum_l;
    Floats this_scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    Floats this_min = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    this_scale = this_min > none ? sum_xl / sum_l2 : this_scale;
    this_min = this_min > none ? none : this_min;
    Floats error{};
    for (u32 i = 0; i < SIZE; ++i) error += weights[i] * difference(this_scale, tried[i], this_min, x[i]);
    const Ints better = (determinant > none) & (error < best);
    level_inverse = better ? inverse : level_inverse;
    level_min = better ? min : level_min;
    best = better ? error : best;
    scale = better ? this_scale : scale;
    min = better ? this_min : min;
  }
  for (u32 i = 0; i < SIZE; ++i) {
    const Ints level = clamped(nearest<Floats>(level_inverse * (x[i] - level_min)), 0, search.top);
    levels[i] = is_flat ? Ints{} : level;
  }
  return {is_flat ? none : scale, is_flat ? -flat_min : -min};
}

/// The search of Q3_K without weights: levels -limit … limit - 1 by coordinate descent in at most five rounds, with
/// weights x². Stores levels with `limit` added. Handles several vectors of sub-blocks at once, because each step
/// depends on the one before.
template <u32 SIZE, u32 VECTORS, std::size_t WIDTH, typename Floats = typename Lanes<WIDTH>::Floats,
          typename Ints = typename Lanes<WIDTH>::Ints>
[[gnu::always_inline]] inline void descend_scales(const Turned<WIDTH, SIZE>* x, int limit, Ints (*levels)[SIZE],
                                                  Floats* scales) {
  const Floats none{};
  Ints is_zero[VECTORS];
  Floats sum_xl[VECTORS] = {};
  Floats sum_l2[VECTORS] = {};
  for (u32 v = 0; v < VECTORS; ++v) {
    const Largest<Floats> largest = largest_of<SIZE>(x[v].at);
    is_zero[v] = largest.magnitude < negligible;
    const Floats inverse = -as_float(limit) / (is_zero[v] ? none + 1.0f : largest.value);
    for (u32 i = 0; i < SIZE; ++i) {
      levels[v][i] = clamped(nearest<Floats>(inverse * x[v].at[i]), -limit, limit - 1);
      const Floats level = as_float(levels[v][i]);
      const Floats weight = x[v].at[i] * x[v].at[i];
      sum_xl[v] += weight * x[v].at[i] * level;
      sum_l2[v] += weight * level * level;
    }
  }
  for (int round = 0; round < 5; ++round) {
    Ints changed{};
    for (u32 i = 0; i < SIZE; ++i) {
      for (u32 v = 0; v < VECTORS; ++v) {
        const Floats value = x[v].at[i];
        const Floats weight = value * value;
        const Floats level = as_float(levels[v][i]);
        const Floats rest_xl = sum_xl[v] - weight * value * level;
        const Floats rest_l2 = sum_l2[v] - weight * level * level;
        const Ints fitted = clamped(nearest<Floats>(value * rest_l2 / rest_xl), -limit, limit - 1);
        const Floats fitted_level = as_float(fitted);
        const Floats new_xl = rest_xl + weight * value * fitted_level;
        const Floats new_l2 = rest_l2 + weight * fitted_level * fitted_level;
        const Ints better = (rest_xl > none) & (fitted != levels[v][i]) & (new_l2 > none) &
                            (new_xl * new_xl * sum_l2[v] > sum_xl[v] * sum_xl[v] * new_l2);
        levels[v][i] = better ? fitted : levels[v][i];
        sum_xl[v] = better ? new_xl : sum_xl[v];
        sum_l2[v] = better ? new_l2 : sum_l2[v];
        changed |= better;
      }
    }
    // A sub-block unchanged in one round stays unchanged in the next.
    if (!any_lane(changed)) break;
  }
  for (u32 v = 0; v < VECTORS; ++v) {
    for (u32 i = 0; i < SIZE; ++i) levels[v][i] = is_zero[v] ? Ints{} : levels[v][i] + limit;
    scales[v] = (is_zero[v] | (sum_l2[v] <= none)) ? none : sum_xl[v] / sum_l2[v];
  }
}

/// Finds a scale for non-negative values, with levels 0 … top: the best of nine inverse scales, then up to five rounds
/// that move single levels. Writes the levels and returns the scale.
float fit_positive_scale(const float* x, const float* weights, u32 count, int top, u8* levels);

}  // namespace modelutils::encode
