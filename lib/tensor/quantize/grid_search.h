// The search of the IQ2 and IQ3 types for one group of 16 or 32 magnitudes: finds the inverse scale and the grid
// points. Source: docs/formats/quantize.md, "Grids".
#pragma once

#include <bit>
#include <cfloat>
#include <span>
#include <vector>

#include "base/types.h"
#include "tensor/quantize/lanes.h"
#include "tensor/types.h"

namespace modelutils::encode {

// The grids of the codebook types as the encoder needs them: for each pattern of levels its grid index, or the grid
// points around it. Source: docs/formats/quantize.md, "Grids".

/// A pattern is a set of 8 levels of 2 bits, or 4 levels of 3 bits, the first in the lowest bits.
class Grid {
 public:
  /// Returns the grid of IQ1_S (and IQ1_M), IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS or IQ3_S. Built once, on first use.
  static const Grid& of(TensorType type);

  /// Returns a pattern's index; negative if the pattern is not on the grid.
  int index(u32 pattern) const { return entries_[pattern]; }

  /// For a pattern that is not on the grid: the patterns of the grid points around it, nearest first, then by index.
  /// The last one is repeated so that the count is a multiple of 8.
  std::span<const u16> neighbours(u32 pattern) const {
    const List& list = lists_[static_cast<std::size_t>(-1 - entries_[pattern])];
    return {neighbours_.data() + list.first, list.count};
  }

 private:
  struct List {
    u32 first;
    u32 count;
  };
  // `points` has the pattern of each index. `distances` is the number of distinct distances up to which neighbours are
  // listed.
  Grid(std::span<const u16> points, u32 size, u32 bits, u32 levels, u32 distances);
  void add_neighbours(std::span<const u16> points, u32 pattern, u32 size, u32 bits, u32 distances);

  std::vector<i32> entries_;
  std::vector<List> lists_;
  std::vector<u16> neighbours_;
};

/// Returns table[index & 7] in each lane.
[[gnu::always_inline]] inline Lanes<32>::Floats looked_up(Lanes<32>::Floats table, Lanes<32>::Ints index) {
#if defined(__clang__)
  Lanes<32>::Floats result{};
  for (u32 lane = 0; lane < 8; ++lane) result[lane] = table[index[lane] & 7];
  return result;
#else
  return __builtin_shuffle(table, index);
#endif
}

/// Returns the neighbour with the least Σ weight·(scale·value - x)², the first if several are equal. `values` maps
/// levels to values. Patterns have SIZE elements with BITS bits per level.
template <std::size_t WIDTH, u32 SIZE, u32 BITS>
[[gnu::always_inline]] inline u32 nearest_neighbour(std::span<const u16> neighbours, const float* x,
                                                    const float* weights, float scale, const float (&values)[8]) {
  if constexpr (WIDTH == 32) {
    using L = Lanes<32>;
    using Patterns [[gnu::vector_size(16)]] = u16;
    L::Floats levels;
    std::memcpy(&levels, values, sizeof levels);
    // The contribution of each level of each element to the sum.
    L::Floats costs[SIZE];
    for (u32 i = 0; i < SIZE; ++i) {
      const L::Floats diff = scale * levels - x[i];
      costs[i] = weights[i] * diff * diff;
    }
    L::Floats least = L::Floats{} + FLT_MAX;
    L::Ints best{};
    for (u32 first = 0; first < neighbours.size(); first += 8) {
      Patterns patterns;
      std::memcpy(&patterns, neighbours.data() + first, sizeof patterns);
      L::Ints rest = __builtin_convertvector(patterns, L::Ints);
      L::Floats sum = looked_up(costs[0], rest);
      for (u32 i = 1; i < SIZE; ++i) {
        rest >>= BITS;
        sum += looked_up(costs[i], rest);
      }
      const L::Ints nearer = sum < least;
      least = nearer ? sum : least;
      best = nearer ? L::Ints{} + static_cast<i32>(first) : best;
    }
    u32 chosen = 0;
    float chosen_sum = FLT_MAX;
    for (u32 lane = 0; lane < 8; ++lane) {
      const u32 position = static_cast<u32>(best[lane]) + lane;
      if (least[lane] < chosen_sum || (least[lane] == chosen_sum && position < chosen)) {
        chosen_sum = least[lane];
        chosen = position;
      }
    }
    return neighbours[chosen];
  } else {
    float costs[SIZE][8];
    for (u32 i = 0; i < SIZE; ++i) {
      for (u32 level = 0; level < 8; ++level) {
        const float diff = scale * values[level] - x[i];
        costs[i][level] = weights[i] * diff * diff;
      }
    }
    u32 chosen = neighbours[0];
    float least = FLT_MAX;
    for (const u16 pattern : neighbours) {
      float sum = costs[0][pattern & 7];
      for (u32 i = 1; i < SIZE; ++i) sum += costs[i][pattern >> (BITS * i) & 7];
      if (sum < least) {
        least = sum;
        chosen = pattern;
      }
    }
    return chosen;
  }
}

/// The values of the levels of IQ2 and IQ3, indexed by the low three bits at a level's position in a pattern. With two
/// bits per level, the third bit belongs to the next level and is ignored.
template <u32 BITS>
constexpr float odd_values[8] = {
    1, 3, 5, 7, BITS == 2 ? 1 : 9, BITS == 2 ? 3 : 11, BITS == 2 ? 5 : 13, BITS == 2 ? 7 : 15};

/// The inverse scales to try: (base + step·t) / divisor, for t from -tries to tries.
struct GridTries {
  float base;
  float step;
  int tries;
};

/// A group of COUNT magnitudes in sets of SIZE.
template <std::size_t WIDTH, u32 COUNT, u32 SIZE>
struct GridGroup {
  static constexpr u32 bits = SIZE == 8 ? 2 : 3;
  static constexpr int top = SIZE == 8 ? 2 : 7;
  static constexpr u32 sets = COUNT / SIZE;
  static constexpr u32 mask = (1u << bits) - 1;

  float x[COUNT];  ///< one element per set may be negative (IQ2_XXS, IQ2_XS, IQ3_XXS)
  float weights[COUNT];
  float roots[COUNT];  ///< square roots of the weights
  u32 patterns[sets];  ///< the result: patterns on the grid
  bool was_on_grid[sets];

  [[gnu::always_inline]] void set_roots() {
    for (u32 i = 0; i < COUNT; ++i) roots[i] = std::sqrt(weights[i]);
  }

  /// Returns a set's pattern at this scale, moved onto the grid.
  [[gnu::always_inline]] u32 pattern_at(const Grid& grid, u32 set, float inverse, float scale) const {
    u32 pattern = 0;
    for (u32 i = 0; i < SIZE; ++i) {
      const int level = clamped(nearest<float>(0.5f * (inverse * x[SIZE * set + i] - 1)), 0, top);
      pattern |= static_cast<u32>(level) << (bits * i);
    }
    return grid.index(pattern) >= 0 ? pattern : moved(grid, set, pattern, scale);
  }
  [[gnu::always_inline]] u32 moved(const Grid& grid, u32 set, u32 pattern, float scale) const {
    return nearest_neighbour<WIDTH, SIZE, bits>(grid.neighbours(pattern), x + SIZE * set, roots + SIZE * set, scale,
                                                odd_values<bits>);
  }

  /// Tries the scales, several at once, and keeps the one with the largest (Σwmq)² / Σwq². Returns `scale` if none is
  /// better than zero.
  [[gnu::always_inline]] float try_scales(const Grid& grid, const GridTries& how, float divisor, float scale,
                                          bool on_grid_at_first) {
    using L = Lanes<WIDTH>;
    std::fill_n(patterns, sets, 0u);
    std::fill_n(was_on_grid, sets, on_grid_at_first);
    float best = 0;
    for (int t = -how.tries; t <= how.tries; t += static_cast<int>(L::count)) {
      typename L::Floats inverse;
      for (u32 lane = 0; lane < L::count; ++lane) {
        inverse[lane] = (how.base + as_float(std::min(t + static_cast<int>(lane), how.tries)) * how.step) / divisor;
      }
      const typename L::Floats scales = 1.0f / inverse;
      typename L::Ints tried[sets];
      u32 off_grid[sets];
      typename L::Floats sum_mq{}, sum_q2{};
      for (u32 set = 0; set < sets; ++set) {
        typename L::Ints pattern{};
        for (u32 i = 0; i < SIZE; ++i) {
          const auto level = clamped(nearest<typename L::Floats>(0.5f * (inverse * x[SIZE * set + i] - 1.0f)), 0, top);
          pattern |= level << static_cast<int>(bits * i);
        }
        off_grid[set] = 0;
        for (u32 lane = 0; lane < L::count; ++lane) {
          const u32 wanted = static_cast<u32>(pattern[lane]);
          if (grid.index(wanted) >= 0) continue;
          off_grid[set] |= 1u << lane;
          pattern[lane] = static_cast<i32>(moved(grid, set, wanted, scales[lane]));
        }
        tried[set] = pattern;
        for (u32 i = 0; i < SIZE; ++i) {
          const typename L::Floats q =
              as_float(2 * (pattern >> static_cast<int>(bits * i) & static_cast<int>(mask)) + 1);
          const float weight = weights[SIZE * set + i];
          sum_mq += weight * x[SIZE * set + i] * q;
          sum_q2 += weight * q * q;
        }
      }
      for (u32 lane = 0; lane < L::count && t + static_cast<int>(lane) <= how.tries; ++lane) {
        const float mq = sum_mq[lane];
        const float q2 = sum_q2[lane];
        if (!(q2 > 0 && mq * mq > best * q2)) continue;
        scale = mq / q2;
        best = scale * mq;
        for (u32 set = 0; set < sets; ++set) {
          patterns[set] = static_cast<u32>(tried[set][lane]);
          was_on_grid[set] = (off_grid[set] >> lane & 1) == 0;
        }
      }
    }
    return scale;
  }

  /// Recomputes the patterns with the scale found, for the sets that were off the grid or for all sets. Returns the
  /// refitted scale.
  [[gnu::always_inline]] float refine(const Grid& grid, float scale, bool always, bool all_sets) {
    const bool all_on = std::all_of(was_on_grid, was_on_grid + sets, [](bool on) { return on; });
    if (!(scale > 0) || (all_on && !always)) return scale;
    const float inverse = 1 / scale;
    for (u32 set = 0; set < sets; ++set) {
      if (all_sets || !was_on_grid[set]) patterns[set] = pattern_at(grid, set, inverse, scale);
    }
    float sum_mq = 0;
    float sum_q2 = 0;
    for (u32 i = 0; i < COUNT; ++i) {
      const float q = as_float(static_cast<int>(2 * (patterns[i / SIZE] >> (bits * (i % SIZE)) & mask) + 1));
      sum_mq += weights[i] * x[i] * q;
      sum_q2 += weights[i] * q * q;
    }
    return sum_q2 > 0 ? sum_mq / sum_q2 : scale;
  }
};

/// Returns the signs of eight values: bit i is set if value i is negative. Writes the magnitudes to `out`.
[[gnu::always_inline]] inline u32 split_signs(const float* values, float* out) {
  u32 signs = 0;
  for (u32 i = 0; i < 8; ++i) {
    const bool is_negative = values[i] < 0;
    out[i] = is_negative ? -values[i] : values[i];
    signs |= (is_negative ? 1u : 0u) << i;
  }
  return signs;
}

/// Like split_signs(), but makes the number of negative signs even: if it is odd, the value with the least
/// weight·value² (the first if several are equal) changes its sign, and its magnitude becomes negative. Returns the
/// lower seven bits.
[[gnu::always_inline]] inline u32 split_even_signs(const float* values, const float* weights, float* out) {
  u32 signs = split_signs(values, out);
  if (std::popcount(signs) % 2 != 0) {
    u32 least = 0;
    for (u32 i = 1; i < 8; ++i) {
      if (weights[i] * values[i] * values[i] < weights[least] * values[least] * values[least]) least = i;
    }
    out[least] = -out[least];
    signs ^= 1u << least;
  }
  return signs & 127;
}

/// Returns the 4- or 3-bit code of a scale, given 1/d.
[[gnu::always_inline]] inline u32 scale_code(float inverse_d, float scale, int top) {
  return static_cast<u32>(clamped(nearest<float>(0.5f * (inverse_d * scale - 1)), 0, top));
}

}  // namespace modelutils::encode
