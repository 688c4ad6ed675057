// Blocks of 32 elements with one scale, without importance: rounded to levels of the largest magnitude, or of the range
// from the smallest to the largest value. Elements are in lanes here: the sums that would depend on their order do not
// occur.
#include <cfloat>

#include "quantize/block_bytes.h"
#include "quantize/encoders.h"
#include "quantize/lanes.h"

namespace modelutils::encode {
namespace {

constexpr auto lesser = [](auto a, auto b) __attribute__((always_inline)) {
  return a < b ? a : b;
};
constexpr auto greater = [](auto a, auto b) __attribute__((always_inline)) {
  return a > b ? a : b;
};

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
    for (const Floats& some : at) largest = greater(magnitude_of(some), largest);
    return of_all_lanes(largest, greater);
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

// Q4_1 and Q5_1: levels 0 … top from the smallest value to the largest, of as many blocks as a vector has lanes:
// scales, their inverses and their 16 bits are computed of all of them at once.
template <std::size_t WIDTH>
struct Ranges {
  using L = Lanes<WIDTH>;
  float min[L::count];
  float inverse[L::count];
  i32 d_bits[L::count];
  i32 min_bits[L::count];

  [[gnu::always_inline]] Ranges(const float* values, u32 blocks, int top) {
    typename L::Floats least{}, largest{};
    float max[L::count];
    for (u32 i = 0; i < blocks; ++i, values += 32) {
      const Values<WIDTH> x(values);
      auto mins = x.at[0];
      auto maxs = x.at[0];
      for (u32 v = 1; v < x.vectors; ++v) {
        mins = lesser(x.at[v], mins);
        maxs = greater(x.at[v], maxs);
      }
      min[i] = of_all_lanes(mins, lesser);
      max[i] = of_all_lanes(maxs, greater);
      if (min[i] == 0) min[i] = *std::find(values, values + 32, 0.0f);  // the first zero decides about the sign
    }
    for (u32 i = blocks; i < L::count; ++i) min[i] = max[i] = 0;
    std::memcpy(&least, min, sizeof least);
    std::memcpy(&largest, max, sizeof largest);
    const typename L::Floats none{};
    const typename L::Floats d = largest == least ? none : (largest - least) / as_float(top);
    const typename L::Floats inverses = d != none ? 1.0f / d : none;
    const typename L::Ints bits = f16_bits(d), bits_of_min = f16_bits(least);
    std::memcpy(inverse, &inverses, sizeof inverses);
    std::memcpy(d_bits, &bits, sizeof bits);
    std::memcpy(min_bits, &bits_of_min, sizeof bits_of_min);
  }
};

// Calls put(codes, out) for every block, whose first four bytes it writes.
template <std::size_t WIDTH, typename Put>
[[gnu::always_inline]] inline void for_each_range(const Rows& rows, int top, u32 bytes, const Put& put) {
  const float* values = rows.values;
  u8* out = rows.out;
  for (u64 left = rows.rows * rows.ne0 / 32; left > 0;) {
    const u32 blocks = static_cast<u32>(std::min<u64>(left, Lanes<WIDTH>::count));
    const Ranges<WIDTH> ranges(values, blocks, top);
    for (u32 i = 0; i < blocks; ++i, values += 32, out += bytes) {
      const Values<WIDTH> x(values);
      typename Lanes<WIDTH>::Ints codes[128 / WIDTH];
      const bool all_fit = ranges.inverse[i] <= FLT_MAX;
      for (u32 v = 0; v < x.vectors; ++v) {
        const auto level = truncated_lanes((x.at[v] - ranges.min[i]) * ranges.inverse[i] + 0.5f, all_fit);
        codes[v] = top == 15 ? byte_at_most(level, top) : level;
      }
      put_u16(out, static_cast<u32>(ranges.d_bits[i]));
      put_u16(out + 2, static_cast<u32>(ranges.min_bits[i]));
      put(codes, out);
    }
    left -= blocks;
  }
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
        constexpr std::size_t bytes = decltype(width)::value;
        for_each_range<bytes>(
            rows, 15, 20, [](const typename Lanes<bytes>::Ints* codes, u8* out) __attribute__((always_inline)) {
              Values<bytes>::put_nibble_codes(codes, out + 4);
            });
      });
}

void q5_1(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        constexpr std::size_t bytes = decltype(width)::value;
        for_each_range<bytes>(
            rows, 31, 24, [](const typename Lanes<bytes>::Ints* codes, u8* out) __attribute__((always_inline)) {
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
