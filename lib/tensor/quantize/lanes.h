// Vectors of float32 and int32 for the encoders. One lane handles one sub-block or one candidate. Each lane performs
// the operations of a scalar loop in the same order, so the output does not depend on the vector width.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/types.h"
#include "tensor/half.h"

namespace modelutils::encode {

template <std::size_t WIDTH>
struct Lanes {
  static constexpr u32 count = WIDTH / sizeof(float);
  using Floats [[gnu::vector_size(WIDTH)]] = float;
  using Ints [[gnu::vector_size(WIDTH)]] = i32;
  using Codes [[gnu::vector_size(WIDTH / 4)]] = u8;
};

/// True if the comparison `mask` holds in any lane.
template <typename Ints>
[[gnu::always_inline]] inline bool any_lane(Ints mask) {
  u64 parts[sizeof(Ints) / 8];
  std::memcpy(parts, &mask, sizeof mask);
  u64 any = 0;
  for (const u64 part : parts) any |= part;
  return any != 0;
}

/// Reduces all lanes to one number. `pick` selects one of two vectors or numbers; the order of the reduction is
/// unspecified.
template <typename Floats, typename Pick>
[[gnu::always_inline]] inline float of_all_lanes(Floats lanes, Pick pick) {
  if constexpr (sizeof(Floats) > 4 * sizeof(float)) {
    using Half [[gnu::vector_size(sizeof(Floats) / 2)]] = float;
    Half halves[2];
    std::memcpy(halves, &lanes, sizeof lanes);
    return of_all_lanes(pick(halves[0], halves[1]), pick);
  } else {
    return pick(pick(float{lanes[0]}, float{lanes[2]}), pick(float{lanes[1]}, float{lanes[3]}));
  }
}

/// Lane i of the result is of_all_lanes(vectors[i]). Reduces pairs of vectors while transposing them.
template <std::size_t WIDTH, typename Pick>
[[gnu::always_inline]] inline typename Lanes<WIDTH>::Floats of_all_lanes_of(
    const typename Lanes<WIDTH>::Floats (&vectors)[Lanes<WIDTH>::count], Pick pick) {
  using Floats = typename Lanes<WIDTH>::Floats;
  Floats fours[Lanes<WIDTH>::count / 4];
  for (u32 i = 0; i < Lanes<WIDTH>::count; i += 4) {
    const Floats* const v = vectors + i;
    if constexpr (WIDTH == 32) {
      const auto two = [&](Floats a, Floats b) __attribute__((always_inline)) {
        return pick(__builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13),
                    __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15));
      };
      const Floats a = two(v[0], v[1]), b = two(v[2], v[3]);
      fours[i / 4] = pick(__builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13),
                          __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15));
    } else {
      const auto two = [&](Floats a, Floats b) __attribute__((always_inline)) {
        return pick(__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(a, b, 2, 6, 3, 7));
      };
      const Floats a = two(v[0], v[1]), b = two(v[2], v[3]);
      fours[0] = pick(__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7));
    }
  }
  if constexpr (WIDTH == 32) {
    return pick(__builtin_shufflevector(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11),
                __builtin_shufflevector(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15));
  } else {
    return fours[0];
  }
}

/// Stores the low byte of each lane.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void store_codes(typename Lanes<WIDTH>::Ints values, u8* out) {
  const typename Lanes<WIDTH>::Codes codes = __builtin_convertvector(values, typename Lanes<WIDTH>::Codes);
  std::memcpy(out, &codes, sizeof codes);
}

/// Several runs of SIZE elements, transposed: each vector holds the same element of every run.
template <std::size_t WIDTH, u32 SIZE>
struct Turned {
  typename Lanes<WIDTH>::Floats at[SIZE];
};

template <typename Floats>
using IntsOf = typename BitsOf<Floats>::Type;

template <typename Floats>
[[gnu::always_inline]] inline Floats magnitude_of(Floats values) {
  return bits_as<Floats>(bits_as<IntsOf<Floats>>(values) & 0x7FFFFFFF);
}

/// Nearest integer, by adding 1.5 × 2^23 and keeping the low 23 bits: ties to even. For |value| > 2^22 the result
/// wraps, as in ggml.
template <typename Floats>
[[gnu::always_inline]] inline IntsOf<Floats> nearest(Floats value) {
  const Floats shifted = value + 12582912.0f;
  return (bits_as<IntsOf<Floats>>(shifted) & 0x7FFFFF) - 0x400000;
}

template <typename Ints>
[[gnu::always_inline]] inline Ints clamped(Ints value, int low, int high) {
  const Ints lows = (value & 0) + low;
  const Ints highs = (value & 0) + high;
  value = value < lows ? lows : value;
  return value > highs ? highs : value;
}

[[gnu::always_inline]] inline float as_float(i32 value) {
  return static_cast<float>(value);
}
template <typename Ints>
requires(!std::is_arithmetic_v<Ints>) [[gnu::always_inline]] inline auto as_float(Ints values) {
  using Floats [[gnu::vector_size(sizeof(Ints))]] = float;
  return __builtin_convertvector(values, Floats);
}

/// Truncates towards zero. Returns -2^31 for NaN and for values outside int32, as on x86-64.
[[gnu::always_inline]] inline i32 truncated(float value) {
  const bool fits = value > -2147483648.0f && value < 2147483648.0f;
  return fits ? static_cast<i32>(value) : std::numeric_limits<i32>::min();
}

template <typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline Ints truncated_lanes(Floats values) {
  const Ints fits = magnitude_of(values) < 2147483648.0f;
  const Ints whole = __builtin_convertvector(fits ? values : Floats{}, Ints);
  return fits ? whole : Ints{} + std::numeric_limits<i32>::min();
}

/// Like truncated(), but in vectors if `all_fit` is true: every value is known to fit int32.
template <typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline Ints truncated_lanes(Floats values, bool all_fit) {
  return all_fit ? __builtin_convertvector(values, Ints) : truncated_lanes(values);
}

/// Nearest integer, halves away from zero, like roundf; outside int32 like truncated().
[[gnu::always_inline]] inline i32 rounded(float value) {
  const i32 whole = truncated(value);
  if (whole == std::numeric_limits<i32>::min()) return whole;
  const float rest = value - as_float(whole);
  return whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0);
}
template <typename Floats, typename Ints = IntsOf<Floats>>
[[gnu::always_inline]] inline Ints rounded_lanes(Floats values) {
  const Ints whole = truncated_lanes(values);
  const Floats rest = values - as_float(whole);
  // A true comparison is -1 in a vector.
  const Ints step = (rest <= Floats{} - 0.5f) - (rest >= Floats{} + 0.5f);
  return whole == Ints{} + std::numeric_limits<i32>::min() ? whole : whole + step;
}

/// Transposes `runs` runs of SIZE elements, which begin `stride` elements apart starting at `first`. Missing runs (from
/// `runs` on) repeat the first one.
template <std::size_t WIDTH, u32 SIZE>
[[gnu::always_inline]] inline void turn(const float* first, u32 stride, u32 runs, Turned<WIDTH, SIZE>& out) {
  constexpr u32 count = Lanes<WIDTH>::count;
  if (runs >= count) {
    for (u32 i = 0; i < SIZE; ++i) {
      for (u32 lane = 0; lane < count; ++lane) out.at[i][lane] = first[lane * stride + i];
    }
    return;
  }
  for (u32 lane = 0; lane < count; ++lane) {
    const float* run = first + (lane < runs ? lane * stride : 0);
    for (u32 i = 0; i < SIZE; ++i) out.at[i][lane] = run[i];
  }
}

/// Σ value², summed in order.
[[gnu::always_inline]] inline float sum_of_squares(const float* values, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return sum;
}

/// importance × √(spread + value²) for each element.
[[gnu::always_inline]] inline void weigh(const float* values, const float* importance, float spread, std::size_t count,
                                         float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = importance[i] * std::sqrt(spread + values[i] * values[i]);
}

}  // namespace modelutils::encode
