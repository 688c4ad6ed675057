#include "tensor/quantize/searches.h"

namespace modelutils::encode {

namespace {

// Returns the inverse scale with the least error among nine.
float best_inverse(const float* x, const float* weights, u32 count, float max, int top) {
  const auto error_of = [&](float inverse, int limit) {
    const float scale = 1 / inverse;
    float error = 0;
    for (u32 i = 0; i < count; ++i) {
      const float diff = x[i] - scale * as_float(std::min(limit, nearest<float>(inverse * x[i])));
      error += weights[i] * diff * diff;
    }
    return error;
  };
  float best = as_float(top) / max;
  // For the first candidate, ggml stores the level in a byte instead of limiting it to `top`.
  const float scale = 1 / best;
  float least = 0;
  for (u32 i = 0; i < count; ++i) {
    const float diff = x[i] - scale * as_float(static_cast<u8>(nearest<float>(best * x[i])));
    least += weights[i] * diff * diff;
  }
  for (int t = -4; t <= 4; ++t) {
    if (t == 0) continue;
    const float inverse = (0.1f * as_float(t) + as_float(top)) / max;
    if (const float error = error_of(inverse, top); error < least) {
      least = error;
      best = inverse;
    }
  }
  return best;
}

}  // namespace

float fit_positive_scale(const float* x, const float* weights, u32 count, int top, u8* levels) {
  float max = 0;
  for (u32 i = 0; i < count; ++i) max = std::max(max, x[i]);
  if (max < negligible) {
    std::fill_n(levels, count, u8{0});
    return 0;
  }
  const float inverse = best_inverse(x, weights, count, max, top);
  float sum_xl = 0;
  float sum_l2 = 0;
  for (u32 i = 0; i < count; ++i) {
    const int level = std::min(top, nearest<float>(inverse * x[i]));
    levels[i] = static_cast<u8>(level);
    sum_xl += weights[i] * x[i] * as_float(level);
    sum_l2 += weights[i] * as_float(level) * as_float(level);
  }
  for (int round = 0; round < 5; ++round) {
    bool changed = false;
    for (u32 i = 0; i < count; ++i) {
      const float level = as_float(levels[i]);
      const float rest_xl = sum_xl - weights[i] * x[i] * level;
      const float rest_l2 = sum_l2 - weights[i] * level * level;
      if (!(rest_xl > 0 && rest_l2 > 0)) continue;
      const int fitted = std::min(top, nearest<float>(x[i] * rest_l2 / rest_xl));
      if (fitted == levels[i]) continue;
      const float new_xl = rest_xl + weights[i] * x[i] * as_float(fitted);
      const float new_l2 = rest_l2 + weights[i] * as_float(fitted) * as_float(fitted);
      if (new_xl * new_xl * sum_l2 > sum_xl * sum_xl * new_l2) {
        levels[i] = static_cast<u8>(fitted);
        sum_xl = new_xl;
        sum_l2 = new_l2;
        changed = true;
      }
    }
    if (!changed) break;
  }
  return sum_l2 > 0 ? sum_xl / sum_l2 : 0.0f;
}

}  // namespace modelutils::encode
