// Blocks of 32 elements with one scale, without importance: rounded to levels of the largest magnitude, or of the range
// from the smallest to the largest value. Elements are in lanes here: the sums that would depend on their order do not
// occur.
#include <cfloat>

#include "quantize/block_bytes.h"
#include "quantize/encoders.h"
#include "quantize/lanes.h"

namespace modelutils::encode {
namespace {

// The 32 values of a block.
template <std::size_t WIDTH>
struct Values {
  using L = Lanes<WIDTH>;
  using Floats = typename L::Floats;
  using Ints = typename L::Ints;
  static constexpr u32 vectors = 32 / L::count;
  Floats at[vectors];

  [[gnu::always_inline]] explicit Values(const float* values) { std::memcpy(at, values, sizeof at); }

  [[gnu::always_inline]] float largest_magnitude() const {
    Floats largest{};
    for (const Floats& some : at) largest = magnitude_of(some) > largest ? magnitude_of(some) : largest;
    float result = 0;
    for (u32 lane = 0; lane < L::count; ++lane) result = std::max(result, static_cast<float>(largest[lane]));
    return result;
  }

  // Codes of vector v and of the one 16 elements later, as nibbles.
  [[gnu::always_inline]] static void put_nibble_codes(const Ints* codes, u8* out) {
    for (u32 v = 0; v < vectors / 2; ++v) {
      store_codes<WIDTH>((codes[v] & 15) | (codes[v + vectors / 2] & 15) << 4, out + v * L::count);
    }
  }
  [[gnu::always_inline]] static u32 fifth_bits_of(const Ints* codes) {
    u8 bytes[32];
    for (u32 v = 0; v < vectors; ++v) store_codes<WIDTH>(codes[v], bytes + v * L::count);
    return fifth_bits(bytes);
  }
};

// The largest magnitude with its sign; of equal ones, the first decides.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline float signed_largest(const Values<WIDTH>& x, const float* values, float magnitude) {
  typename Values<WIDTH>::Ints positive{}, negative{};
  for (const auto& some : x.at) {
    positive |= some == typename Values<WIDTH>::Floats{} + magnitude;
    negative |= some == typename Values<WIDTH>::Floats{} - magnitude;
  }
  if (!any_lane(negative)) return magnitude;
  if (!any_lane(positive)) return -magnitude;
  for (u32 i = 0; i < 32; ++i) {
    if (magnitude_of(values[i]) == magnitude) return values[i];
  }
  return 0;
}

// The low byte as a signed number, at most `top`.
template <typename Ints>
[[gnu::always_inline]] inline Ints byte_at_most(Ints value, int top) {
  value = value << 24 >> 24;
  const Ints tops = Ints{} + top;
  return value > tops ? tops : value;
}

// Q4_0 and Q5_0: levels 0 … 2·half - 1, `half` being zero.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline float symmetric(const float* values, int half, typename Lanes<WIDTH>::Ints* codes) {
  const Values<WIDTH> x(values);
  const float magnitude = x.largest_magnitude();
  const float max = magnitude > 0 ? signed_largest(x, values, magnitude) : 0;
  const float d = max / as_float(-half);
  const float inverse = d != 0 ? 1.0f / d : 0.0f;
  const float shift = as_float(half) + 0.5f;
  const bool all_fit = magnitude_of(inverse) <= FLT_MAX;
  for (u32 v = 0; v < x.vectors; ++v) {
    codes[v] = byte_at_most(truncated_lanes(x.at[v] * inverse + shift, all_fit), 2 * half - 1);
  }
  return d;
}

// Q4_1 and Q5_1: levels 0 … top from the smallest value to the largest.
struct Range {
  float d;
  float min;
};
template <std::size_t WIDTH>
[[gnu::always_inline]] inline Range ranged(const float* values, int top, typename Lanes<WIDTH>::Ints* codes) {
  const Values<WIDTH> x(values);
  auto mins = x.at[0];
  auto maxs = x.at[0];
  for (u32 v = 1; v < x.vectors; ++v) {
    mins = x.at[v] < mins ? x.at[v] : mins;
    maxs = x.at[v] > maxs ? x.at[v] : maxs;
  }
  float min = mins[0];
  float max = maxs[0];
  for (u32 lane = 1; lane < Lanes<WIDTH>::count; ++lane) {
    min = std::min(min, static_cast<float>(mins[lane]));
    max = std::max(max, static_cast<float>(maxs[lane]));
  }
  if (min == 0) {  // the first zero decides about the sign
    min = *std::find(values, values + 32, 0.0f);
  }
  const float d = max == min ? 0.0f : (max - min) / as_float(top);
  const float inverse = d != 0 ? 1.0f / d : 0.0f;
  const bool all_fit = inverse <= FLT_MAX;
  for (u32 v = 0; v < x.vectors; ++v) {
    const auto level = truncated_lanes((x.at[v] - min) * inverse + 0.5f, all_fit);
    codes[v] = top == 15 ? byte_at_most(level, top) : level;
  }
  return {d, min};
}

}  // namespace

void q4_0(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 32, 18, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              typename Lanes<bytes>::Ints codes[128 / bytes];
              put_half(out, symmetric<bytes>(values, 8, codes));
              Values<bytes>::put_nibble_codes(codes, out + 2);
            });
      });
}

void q5_0(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 32, 22, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              typename Lanes<bytes>::Ints codes[128 / bytes];
              put_half(out, symmetric<bytes>(values, 16, codes));
              put_u32(out + 2, Values<bytes>::fifth_bits_of(codes));
              Values<bytes>::put_nibble_codes(codes, out + 6);
            });
      });
}

void q4_1(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 32, 20, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              typename Lanes<bytes>::Ints codes[128 / bytes];
              const Range range = ranged<bytes>(values, 15, codes);
              put_half(out, range.d);
              put_half(out + 2, range.min);
              Values<bytes>::put_nibble_codes(codes, out + 4);
            });
      });
}

void q5_1(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 32, 24, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              typename Lanes<bytes>::Ints codes[128 / bytes];
              const Range range = ranged<bytes>(values, 31, codes);
              put_half(out, range.d);
              put_half(out + 2, range.min);
              put_u32(out + 4, Values<bytes>::fifth_bits_of(codes));
              Values<bytes>::put_nibble_codes(codes, out + 8);
            });
      });
}

void q8_0(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 32, 34, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              using V = Values<decltype(width)::value>;
              const V x(values);
              const float d = x.largest_magnitude() / 127.0f;
              const float inverse = d != 0 ? 1.0f / d : 0.0f;
              put_half(out, d);
              for (u32 v = 0; v < V::vectors; ++v) {
                store_codes<decltype(width)::value>(rounded_lanes(x.at[v] * inverse), out + 2 + v * V::L::count);
              }
            });
      });
}

}  // namespace modelutils::encode
