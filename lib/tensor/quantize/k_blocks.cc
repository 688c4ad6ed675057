// K blocks (docs/formats/quantize.md): searches a scale for each sub-block, one per lane, rounds the scales to 4, 6 or
// 8 bits, and recomputes the levels with the stored scales. Where a stored scale is 0, the levels of the search stay.
#include "tensor/block_decoders.h"
#include "tensor/quantize/quantize.h"
#include "tensor/quantize/searches.h"

namespace modelutils::encode {
namespace {

constexpr u32 block_elements = 256;

// The sub-blocks of a block: transposed values and levels, and the results of the search.
template <std::size_t WIDTH, u32 SIZE>
struct SubBlocks {
  using L = Lanes<WIDTH>;
  using Floats = typename L::Floats;
  using Ints = typename L::Ints;
  static constexpr u32 count = block_elements / SIZE;
  static constexpr u32 vectors = count / L::count;

  Turned<WIDTH, SIZE> x[vectors];
  Ints levels[vectors][SIZE];
  float scales[count];
  float mins[count];
  float weight_sums[count];

  [[gnu::always_inline]] void keep(u32 vector, Floats scale) {
    std::memcpy(scales + vector * L::count, &scale, sizeof scale);
  }
  [[gnu::always_inline]] void keep(u32 vector, const ScaleAndMin<Floats>& found) {
    keep(vector, found.scale);
    std::memcpy(mins + vector * L::count, &found.min, sizeof found.min);
  }

  // Sums the weights of each sub-block in vector `vector`.
  [[gnu::always_inline]] void sum_weights(u32 vector, const Turned<WIDTH, SIZE>& weights) {
    Floats sum{};
    for (u32 i = 0; i < SIZE; ++i) sum += weights.at[i];
    std::memcpy(weight_sums + vector * L::count, &sum, sizeof sum);
  }

  // Recomputes the levels with the stored scales and minimums, in element order.
  [[gnu::always_inline]] void level(const float* stored_scales, const float* stored_mins, int low, int high, int bias,
                                    u8* out) {
    for (u32 v = 0; v < vectors; ++v) {
      Floats scale, min{};
      std::memcpy(&scale, stored_scales + v * L::count, sizeof scale);
      if (stored_mins != nullptr) std::memcpy(&min, stored_mins + v * L::count, sizeof min);
      const auto is_zero = scale == Floats{};
      const Floats divisor = is_zero ? Floats{} + 1.0f : scale;
      for (u32 i = 0; i < SIZE; ++i) {
        const Floats value = stored_mins != nullptr ? x[v].at[i] + min : x[v].at[i];
        const Ints fitted = clamped(nearest<Floats>(value / divisor), low, high) + bias;
        const Ints chosen = is_zero ? levels[v][i] : fitted;
        for (u32 lane = 0; lane < L::count; ++lane) {
          out[(v * L::count + lane) * SIZE + i] = static_cast<u8>(chosen[lane]);
        }
      }
    }
  }
};

// Calls search(sub-blocks, vector, weights) for each vector of sub-blocks. `weights` are importance × √(spread + x²).
template <std::size_t WIDTH, u32 SIZE, typename Search>
[[gnu::always_inline]] inline void for_weighted(const float* values, const float* importance, float spread,
                                                SubBlocks<WIDTH, SIZE>& blocks, const Search& search) {
  constexpr u32 count = Lanes<WIDTH>::count;
  float weights[block_elements];
  weigh(values, importance, spread, block_elements, weights);
  for (u32 v = 0; v < blocks.vectors; ++v) {
    turn(values + v * count * SIZE, SIZE, count, blocks.x[v]);
    Turned<WIDTH, SIZE> turned;
    turn(weights + v * count * SIZE, SIZE, count, turned);
    blocks.sum_weights(v, turned);
    search(v, turned);
  }
}

constexpr MinSearch weighted_search(int top) {
  return {.top = top, .first = -0.9f, .step = 0.05f, .tries = 36, .absolute = false};
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_q2_k(const float* values, const float* importance, u8* out) {
  using S = SubBlocks<WIDTH, 16>;
  S blocks;
  float d, dmin;
  u8 scales[16];
  u8 mins[16];
  if (importance != nullptr) {
    const float mean = sum_of_squares(values, block_elements) / block_elements;
    for_weighted(
        values, importance, mean, blocks, [&](u32 v, const Turned<WIDTH, 16>& weights) __attribute__((always_inline)) {
          blocks.keep(v, search_scale_and_min<16>(blocks.x[v].at, weights.at, weighted_search(3), blocks.levels[v]));
        });
    d = fit_positive_scale(blocks.scales, blocks.weight_sums, 16, 15, scales);
    dmin = fit_positive_scale(blocks.mins, blocks.weight_sums, 16, 15, mins);
  } else {
    for (u32 v = 0; v < S::vectors; ++v) {
      turn(values + v * S::L::count * 16, 16, S::L::count, blocks.x[v]);
      Turned<WIDTH, 16> weights;
      for (u32 i = 0; i < 16; ++i) weights.at[i] = magnitude_of(blocks.x[v].at[i]);
      const MinSearch search{.top = 3, .first = -0.5f, .step = 0.1f, .tries = 15, .absolute = true};
      blocks.keep(v, search_scale_and_min<16>(blocks.x[v].at, weights.at, search, blocks.levels[v]));
    }
    const float largest = std::max(0.0f, *std::max_element(blocks.scales, blocks.scales + 16));
    const float largest_min = std::max(0.0f, *std::max_element(blocks.mins, blocks.mins + 16));
    for (u32 k = 0; k < 16; ++k) {
      scales[k] = static_cast<u8>(largest > 0 ? nearest<float>(15.0f / largest * blocks.scales[k]) : 0);
      mins[k] = static_cast<u8>(largest_min > 0 ? nearest<float>(15.0f / largest_min * blocks.mins[k]) : 0);
    }
    d = largest > 0 ? largest / 15.0f : 0;
    dmin = largest_min > 0 ? largest_min / 15.0f : 0;
  }
  d = put_half(out + 80, d);
  dmin = put_half(out + 82, dmin);
  float stored_scales[16];
  float stored_mins[16];
  for (u32 k = 0; k < 16; ++k) {
    out[k] = static_cast<u8>(scales[k] | mins[k] << 4);
    stored_scales[k] = d * as_float(out[k] & 15);
    stored_mins[k] = dmin * as_float(out[k] >> 4);
  }
  u8 codes[block_elements];
  blocks.level(stored_scales, stored_mins, 0, 3, 0, codes);
  put_planes_of_two(out + 16, codes);
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_q3_k(const float* values, const float* importance, u8* out) {
  using S = SubBlocks<WIDTH, 16>;
  S blocks;
  float d;
  i32 scales[16];  // with 32 added
  if (importance != nullptr) {
    const float mean = 2 * sum_of_squares(values, block_elements) / block_elements;
    for_weighted(
        values, importance, mean, blocks, [&](u32 v, const Turned<WIDTH, 16>& weights) __attribute__((always_inline)) {
          blocks.keep(v, search_scale<16>(blocks.x[v].at, weights.at, 4, blocks.levels[v]));
        });
    d = search_scale<16>(blocks.scales, blocks.weight_sums, 32, scales);
  } else {
    float largest = 0;
    for (u32 v = 0; v < S::vectors; ++v) turn(values + v * S::L::count * 16, 16, S::L::count, blocks.x[v]);
    typename S::Floats found[S::vectors];
    descend_scales<16, S::vectors>(blocks.x, 4, blocks.levels, found);
    for (u32 v = 0; v < S::vectors; ++v) blocks.keep(v, found[v]);
    for (const float scale : blocks.scales) largest = magnitude_of(scale) > magnitude_of(largest) ? scale : largest;
    const float inverse = largest != 0 ? -32.0f / largest : 0;
    for (u32 k = 0; k < 16; ++k) {
      const int level = static_cast<i8>(nearest<float>(inverse * blocks.scales[k]));
      scales[k] = largest != 0 ? clamped(level, -32, 31) + 32 : 0;
    }
    d = largest != 0 ? 1 / inverse : 0;
  }
  for (u32 k = 0; k < 8; ++k) out[96 + k] = static_cast<u8>((scales[k] & 15) | (scales[k + 8] & 15) << 4);
  for (u32 k = 0; k < 4; ++k) {
    out[104 + k] =
        static_cast<u8>(scales[k] >> 4 | scales[k + 4] >> 4 << 2 | scales[k + 8] >> 4 << 4 | scales[k + 12] >> 4 << 6);
  }
  d = put_half(out + 108, d);
  float stored[16];
  for (u32 k = 0; k < 16; ++k) stored[k] = d * as_float(q3_k_scale(out + 96, k));
  u8 codes[block_elements];
  blocks.level(stored, nullptr, -4, 3, 4, codes);
  for (u32 i = 0; i < 32; ++i) {
    u32 bits = 0;
    for (u32 k = 0; k < 8; ++k) bits |= static_cast<u32>(codes[32 * k + i] >> 2 & 1) << k;
    out[i] = static_cast<u8>(bits);
  }
  put_planes_of_two(out + 32, codes);
}

// The common part of Q4_K and Q5_K: stores d, dmin and eight pairs of 6-bit numbers in the first 16 bytes, and computes
// levels 0 … top.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_scales_and_mins(const float* values, const float* importance, int top,
                                                          float first, int tries, u8* out, u8* codes) {
  using S = SubBlocks<WIDTH, 32>;
  S blocks;
  float d, dmin;
  u8 scales[8];
  u8 mins[8];
  if (importance != nullptr) {
    const float mean = 2 * sum_of_squares(values, block_elements) / block_elements;
    for_weighted(
        values, importance, mean, blocks, [&](u32 v, const Turned<WIDTH, 32>& weights) __attribute__((always_inline)) {
          blocks.keep(v, search_scale_and_min<32>(blocks.x[v].at, weights.at, weighted_search(top), blocks.levels[v]));
        });
    d = fit_positive_scale(blocks.scales, blocks.weight_sums, 8, 63, scales);
    dmin = fit_positive_scale(blocks.mins, blocks.weight_sums, 8, 63, mins);
  } else {
    float roots[8];
    for (u32 k = 0; k < 8; ++k) roots[k] = std::sqrt(sum_of_squares(values + 32 * k, 32) / 32);
    for (u32 v = 0; v < S::vectors; ++v) {
      turn(values + v * S::L::count * 32, 32, S::L::count, blocks.x[v]);
      typename S::Floats root;
      std::memcpy(&root, roots + v * S::L::count, sizeof root);
      Turned<WIDTH, 32> weights;
      for (u32 i = 0; i < 32; ++i) weights.at[i] = root + magnitude_of(blocks.x[v].at[i]);
      const MinSearch search{.top = top, .first = first, .step = 0.1f, .tries = tries, .absolute = false};
      blocks.keep(v, search_scale_and_min<32>(blocks.x[v].at, weights.at, search, blocks.levels[v]));
    }
    const float largest = std::max(0.0f, *std::max_element(blocks.scales, blocks.scales + 8));
    const float largest_min = std::max(0.0f, *std::max_element(blocks.mins, blocks.mins + 8));
    const float inverse = largest > 0 ? 63.0f / largest : 0;
    const float inverse_min = largest_min > 0 ? 63.0f / largest_min : 0;
    for (u32 k = 0; k < 8; ++k) {
      scales[k] = static_cast<u8>(nearest<float>(inverse * blocks.scales[k]));
      mins[k] = static_cast<u8>(nearest<float>(inverse_min * blocks.mins[k]));
    }
    d = largest / 63.0f;
    dmin = largest_min / 63.0f;
  }
  for (u32 k = 0; k < 8; ++k) {
    scales[k] = std::min(scales[k], u8{63});
    mins[k] = std::min(mins[k], u8{63});
  }
  d = put_half(out, d);
  dmin = put_half(out + 2, dmin);
  u8* packed = out + 4;
  for (u32 k = 0; k < 4; ++k) {
    packed[k] = static_cast<u8>(scales[k] | scales[k + 4] >> 4 << 6);
    packed[k + 4] = static_cast<u8>(mins[k] | mins[k + 4] >> 4 << 6);
    packed[k + 8] = static_cast<u8>((scales[k + 4] & 15) | (mins[k + 4] & 15) << 4);
  }
  float stored_scales[8];
  float stored_mins[8];
  for (u32 k = 0; k < 8; ++k) {
    stored_scales[k] = d * as_float(scales[k]);
    stored_mins[k] = dmin * as_float(mins[k]);
  }
  blocks.level(stored_scales, stored_mins, 0, top, 0, codes);
}

template <std::size_t WIDTH>
[[gnu::always_inline]] inline void encode_q6_k(const float* values, const float* importance, u8* out) {
  using S = SubBlocks<WIDTH, 16>;
  S blocks;
  for (u32 v = 0; v < S::vectors; ++v) {
    turn(values + v * S::L::count * 16, 16, S::L::count, blocks.x[v]);
    Turned<WIDTH, 16> weights;
    if (importance != nullptr) {
      turn(importance + v * S::L::count * 16, 16, S::L::count, weights);
    } else {
      for (u32 i = 0; i < 16; ++i) weights.at[i] = blocks.x[v].at[i] * blocks.x[v].at[i];
    }
    blocks.keep(v, search_scale<16>(blocks.x[v].at, weights.at, 32, blocks.levels[v]));
  }
  float largest = 0;
  for (const float scale : blocks.scales) largest = magnitude_of(scale) > magnitude_of(largest) ? scale : largest;
  if (magnitude_of(largest) < negligible) {
    std::memset(out, 0, 210);
    return;
  }
  const float inverse = -128.0f / largest;
  const float d = put_half(out + 208, 1 / inverse);
  float stored[16];
  for (u32 k = 0; k < 16; ++k) {
    const i8 scale = static_cast<i8>(std::min(127, nearest<float>(inverse * blocks.scales[k])));
    out[192 + k] = static_cast<u8>(scale);
    stored[k] = d * as_float(scale);
  }
  u8 codes[block_elements];
  blocks.level(stored, nullptr, -32, 31, 32, codes);
  for (u32 half = 0; half < 2; ++half) {
    const u8* from = codes + 128 * half;
    for (u32 i = 0; i < 64; ++i) out[64 * half + i] = static_cast<u8>((from[i] & 15) | from[i + 64] << 4);
  }
  put_planes_of_two(out + 128, codes, 4);
}

}  // namespace

void q2_k(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 84, [](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_q2_k<decltype(width)::value>(values, importance, out);
            });
      });
}

void q3_k(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 110, [](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_q3_k<decltype(width)::value>(values, importance, out);
            });
      });
}

void q4_k(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 144, [](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              u8 codes[block_elements];
              encode_scales_and_mins<decltype(width)::value>(values, importance, 15, -1.0f, 20, out, codes);
              put_planes_of_four(out + 16, codes);
            });
      });
}

void q5_k(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 176, [](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              u8 codes[block_elements];
              encode_scales_and_mins<decltype(width)::value>(values, importance, 31, -0.5f, 15, out, codes);
              for (u32 i = 0; i < 32; ++i) {
                u32 bits = 0;
                for (u32 k = 0; k < 8; ++k) bits |= static_cast<u32>(codes[32 * k + i] >> 4) << k;
                out[16 + i] = static_cast<u8>(bits);
              }
              put_planes_of_four(out + 48, codes);
            });
      });
}

void q6_k(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 210, [](const float* values, const float* importance, u8* out) __attribute__((always_inline)) {
              encode_q6_k<decltype(width)::value>(values, importance, out);
            });
      });
}

}  // namespace modelutils::encode
