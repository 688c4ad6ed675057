// IQ4_NL and IQ4_XS: 16 unevenly spaced levels. Tries 15 scales for each group of 32, with one group per lane; IQ4_XS
// then rounds each scale to six bits.
#include "tensor/codebooks.h"
#include "tensor/quantize/quantize.h"
#include "tensor/quantize/searches.h"

namespace modelutils::encode {
namespace {

constexpr u32 group_size = 32;

// The midpoints between levels; a value at or above one belongs to the upper level.
const std::array<float, 15> between_levels = [] {
  std::array<float, 15> borders{};
  for (u32 i = 0; i < 15; ++i) borders[i] = 0.5f * static_cast<float>(iq4nl_values[i] + iq4nl_values[i + 1]);
  return borders;
}();

// Returns the level value nearest to x; the last one for NaN.
template <typename Floats>
[[gnu::always_inline]] inline Floats nearest_value(Floats x) {
  Floats value = Floats{} + static_cast<float>(iq4nl_values[0]);
  for (u32 i = 0; i < 15; ++i) {
    const Floats step = Floats{} + static_cast<float>(iq4nl_values[i + 1] - iq4nl_values[i]);
    value += x < Floats{} + between_levels[i] ? Floats{} : step;
  }
  return value;
}

template <typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline Ints nearest_level(Floats x) {
  Ints level{};
  // A true comparison is -1 in a vector.
  for (u32 i = 0; i < 15; ++i) level += 1 + (x < Floats{} + between_levels[i]);
  return level;
}

template <typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline Floats search_uneven_scale(const Floats* x, const Floats* weights) {
  const Floats none{};
  const Largest<Floats> largest = largest_of<group_size>(x);
  const Ints is_zero = largest.magnitude < negligible;
  const Floats max = is_zero ? none + 1.0f : largest.value;
  const auto sums = [&](Floats inverse, Floats & sum_qx, Floats & sum_q2) __attribute__((always_inline)) {
    sum_qx = none;
    sum_q2 = none;
    for (u32 i = 0; i < group_size; ++i) {
      const Floats q = nearest_value<Floats>(inverse * x[i]);
      sum_qx += weights[i] * q * x[i];
      sum_q2 += weights[i] * q * q;
    }
  };
  const float lowest = static_cast<float>(iq4nl_values[0]);
  Floats sum_qx, sum_q2;
  const Floats first = -max / lowest;
  sums(1.0f / first, sum_qx, sum_q2);
  Floats scale = sum_q2 > none ? sum_qx / sum_q2 : none;
  Floats best = scale * sum_qx;
  for (int t = -7; t <= 7; ++t) {
    sums((as_float(t) + lowest) / max, sum_qx, sum_q2);
    const Ints better = (sum_q2 > none) & (sum_qx * sum_qx > best * sum_q2);
    scale = better ? sum_qx / sum_q2 : scale;
    best = better ? scale * sum_qx : best;
  }
  return is_zero ? none : scale;
}

// Computes the levels of each lane's group with the scale as stored.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void put_levels(const Turned<WIDTH, group_size>& x, typename Lanes<WIDTH>::Floats scale,
                                              u32 groups, u8 (*codes)[group_size]) {
  using L = Lanes<WIDTH>;
  const typename L::Floats none{};
  const typename L::Floats inverse = scale != none ? 1.0f / (scale != none ? scale : none + 1.0f) : none;
  for (u32 i = 0; i < group_size; ++i) {
    const typename L::Ints level = nearest_level<typename L::Floats>(inverse * x.at[i]);
    for (u32 lane = 0; lane < groups; ++lane) codes[lane][i] = static_cast<u8>(level[lane]);
  }
}

// Several groups in lanes, and their weights: importance × √(spread + x²), or x².
template <std::size_t WIDTH>
struct Groups {
  Turned<WIDTH, group_size> x, weights;

  [[gnu::always_inline]] Groups(const float* values, const float* importance, const float* spreads, u32 groups) {
    turn(values, group_size, groups, x);
    if (importance == nullptr) {
      for (u32 i = 0; i < group_size; ++i) weights.at[i] = x.at[i] * x.at[i];
      return;
    }
    float weighed[group_size * Lanes<WIDTH>::count];
    for (u32 g = 0; g < groups; ++g) {
      weigh(values + group_size * g, importance + group_size * g, spreads[g], group_size, weighed + group_size * g);
    }
    turn(weighed, group_size, groups, weights);
  }
};

[[gnu::always_inline]] inline float spread_of(const float* values, u32 count) {
  return sum_of_squares(values, count) * (2.0f / static_cast<float>(count));
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq4_nl(const float* values, const float* importance, u32 groups, u8* out) {
  using L = Lanes<WIDTH>;
  float spreads[L::count];
  for (u32 g = 0; g < groups; ++g) spreads[g] = spread_of(values + group_size * g, group_size);
  const Groups<WIDTH> lanes(values, importance, spreads, groups);
  const typename L::Floats scale = search_uneven_scale(lanes.x.at, lanes.weights.at);
  u8 codes[L::count][group_size];
  put_levels(lanes.x, scale, groups, codes);
  for (u32 g = 0; g < groups; ++g, out += 18) {
    put_half(out, scale[g]);
    put_nibbles(out + 2, codes[g]);
  }
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_iq4_xs(const float* values, const float* importance, u8* out) {
  using L = Lanes<WIDTH>;
  constexpr u32 vectors = 8 / L::count;
  float spreads[L::count];
  std::fill_n(spreads, L::count, spread_of(values, 256));
  float scales[8];
  Turned<WIDTH, group_size> x[vectors];
  for (u32 v = 0; v < vectors; ++v) {
    const u32 first = v * L::count * group_size;
    const Groups<WIDTH> lanes(values + first, importance == nullptr ? nullptr : importance + first, spreads, L::count);
    x[v] = lanes.x;
    const typename L::Floats scale = search_uneven_scale(lanes.x.at, lanes.weights.at);
    std::memcpy(scales + v * L::count, &scale, sizeof scale);
  }
  float largest = 0;
  for (const float scale : scales) largest = magnitude_of(scale) > magnitude_of(largest) ? scale : largest;
  const float d = -largest / 32;
  const float inverse = d != 0 ? 1 / d : 0.0f;
  u32 high = 0;
  float stored[8];
  std::fill_n(out + 4, 4, u8{0});
  for (u32 g = 0; g < 8; ++g) {
    const int level = clamped(nearest<float>(inverse * scales[g]), -32, 31);
    stored[g] = d * as_float(level);
    const u32 code = static_cast<u32>(level + 32);
    high |= (code >> 4) << (2 * g);
    out[4 + g / 2] = static_cast<u8>(out[4 + g / 2] | (code & 15) << (4 * (g % 2)));
  }
  put_half(out, d);
  put_u16(out + 2, high);
  for (u32 v = 0; v < vectors; ++v) {
    typename L::Floats scale;
    std::memcpy(&scale, stored + v * L::count, sizeof scale);
    u8 codes[L::count][group_size];
    put_levels(x[v], scale, L::count, codes);
    for (u32 lane = 0; lane < L::count; ++lane) put_nibbles(out + 8 + 16 * (v * L::count + lane), codes[lane]);
  }
}

}  // namespace

void iq4_nl(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        constexpr u32 lanes = Lanes<decltype(width)::value>::count;
        const u64 groups = rows.ne0 / group_size;
        for (u64 row = 0; row < rows.rows; ++row) {
          for (u64 g = 0; g < groups; g += lanes) {
            encode_iq4_nl<decltype(width)::value>(
                rows.values + row * rows.ne0 + g * group_size,
                rows.importance == nullptr ? nullptr : rows.importance + g * group_size,
                static_cast<u32>(std::min<u64>(lanes, groups - g)), rows.out + (row * groups + g) * 18);
          }
        }
      });
}

void iq4_xs(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 136, [](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_iq4_xs<decltype(width)::value>(values, importance, out);
            });
      });
}

}  // namespace modelutils::encode
