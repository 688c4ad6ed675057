// Blocks of 32 elements with one scale, without importance: values are rounded to levels relative to the largest
// magnitude, or to the range from the smallest to the largest value. Here a lane is one element; there are no sums
// whose result depends on the order.
#include <cfloat>

#include "tensor/quantize/lanes.h"
#include "tensor/quantize/quantize.h"

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

  // Loads the vectors one at a time. A single copy would be stored with another width, and loading the vectors from it
  // would stall.
  [[gnu::always_inline]] explicit Values(const float* values) {
#pragma GCC unroll 8
    for (u32 v = 0; v < vectors; ++v) {
      Floats some;
      std::memcpy(&some, values + v * L::count, sizeof some);
      at[v] = some;
    }
  }

  [[gnu::always_inline]] float largest_magnitude() const {
    Floats largest{};
    for (const Floats& some : at) largest = greater(magnitude_of(some), largest);
    return of_all_lanes(largest, greater);
  }

#if defined(__x86_64__)
  // Sorts the bytes of each 16-byte half: the first byte of every four, then the second, …
  [[gnu::always_inline]] static auto sorted_bytes(Ints words) {
    using Bytes [[gnu::vector_size(32)]] = u8;
    const Bytes bytes = bits_as<Bytes>(words);
    return bits_as<Ints>(__builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 16,
                                                 20, 24, 28, 17, 21, 25, 29, 18, 22, 26, 30, 19, 23, 27, 31));
  }
#endif

  // Stores the codes of vector v in the low nibbles and those of 16 elements later in the high nibbles.
  [[gnu::always_inline]] static void put_nibble_codes(const Ints* codes, u8* out) {
#if defined(__x86_64__)
    if constexpr (WIDTH == 32) {
      const Ints runs =
          sorted_bytes((codes[0] & 15) | (codes[2] & 15) << 4 | (codes[1] & 15) << 8 | (codes[3] & 15) << 12);
      const auto sixteen = __builtin_shufflevector(runs, runs, 0, 4, 1, 5);
      std::memcpy(out, &sixteen, sizeof sixteen);
      return;
    }
#endif
    for (u32 v = 0; v < vectors / 2; ++v) {
      store_codes<WIDTH>((codes[v] & 15) | (codes[v + vectors / 2] & 15) << 4, out + v * L::count);
    }
  }
  // Stores the low byte of each code.
  [[gnu::always_inline]] static void put_codes(const Ints* codes, u8* out) {
#if defined(__x86_64__)
    if constexpr (WIDTH == 32) {
      const Ints runs =
          sorted_bytes((codes[0] & 255) | (codes[1] & 255) << 8 | (codes[2] & 255) << 16 | codes[3] << 24);
      const Ints all = __builtin_shufflevector(runs, runs, 0, 4, 1, 5, 2, 6, 3, 7);
      std::memcpy(out, &all, sizeof all);
      return;
    }
#endif
    for (u32 v = 0; v < vectors; ++v) store_codes<WIDTH>(codes[v], out + v * L::count);
  }
  [[gnu::always_inline]] static u32 fifth_bits_of(const Ints* codes) {
    u8 bytes[32];
    put_codes(codes, bytes);
    return fifth_bits(bytes);
  }
};

// Returns the value with the largest magnitude; the first if magnitudes are equal.
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

// Returns the low byte as a signed number, at most `top`.
template <typename Ints>
[[gnu::always_inline]] inline Ints byte_at_most(Ints value, int top) {
  value = value << 24 >> 24;
  const Ints tops = Ints{} + top;
  return value > tops ? tops : value;
}

// Q4_0 and Q5_0: levels 0 … 2·half - 1, where level `half` is zero.
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

// Q4_1 and Q5_1: levels 0 … top from the smallest to the largest value. Handles as many blocks as a vector has lanes,
// so that their scales, inverses and F16 bits are computed together.
template <std::size_t WIDTH>
struct Ranges {
  using L = Lanes<WIDTH>;
  float min[L::count];
  float inverse[L::count];
  i32 d_bits[L::count];
  i32 min_bits[L::count];

  [[gnu::always_inline]] Ranges(const float* values, u32 blocks, int top) {
    typename L::Floats mins[L::count], maxs[L::count];
    for (u32 i = blocks; i < L::count; ++i) mins[i] = maxs[i] = typename L::Floats{};
    for (u32 i = 0; i < blocks; ++i) {
      const Values<WIDTH> x(values + 32 * i);
      mins[i] = maxs[i] = x.at[0];
      for (u32 v = 1; v < x.vectors; ++v) {
        mins[i] = lesser(x.at[v], mins[i]);
        maxs[i] = greater(x.at[v], maxs[i]);
      }
    }
    typename L::Floats least = of_all_lanes_of<WIDTH>(mins, lesser);
    const typename L::Floats largest = of_all_lanes_of<WIDTH>(maxs, greater);
    std::memcpy(min, &least, sizeof min);
    const typename L::Floats none{};
    if (any_lane(least == none)) {  // the first zero determines the sign of a zero minimum
      for (u32 i = 0; i < blocks; ++i) {
        if (min[i] == 0) min[i] = *std::find(values + 32 * i, values + 32 * (i + 1), 0.0f);
      }
      std::memcpy(&least, min, sizeof least);
    }
    const typename L::Floats d = largest == least ? none : (largest - least) / as_float(top);
    const typename L::Floats inverses = d != none ? 1.0f / d : none;
    const typename L::Ints bits = f16_bits(d), bits_of_min = f16_bits(least);
    std::memcpy(inverse, &inverses, sizeof inverses);
    std::memcpy(d_bits, &bits, sizeof bits);
    std::memcpy(min_bits, &bits_of_min, sizeof bits_of_min);
  }
};

// Writes the first four bytes of every block and calls put(codes, out) for the rest.
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
      // With a finite inverse, levels lie in 0 … top. Otherwise a level outside int32 becomes -2^31, whose low bits are
      // 0.
      const bool all_fit = ranges.inverse[i] <= FLT_MAX;
      for (u32 v = 0; v < x.vectors; ++v) {
        const auto level = truncated_lanes((x.at[v] - ranges.min[i]) * ranges.inverse[i] + 0.5f, all_fit);
        codes[v] = top == 15 && !all_fit ? byte_at_most(level, top) : level;
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
              typename V::Ints codes[V::vectors];
              for (u32 v = 0; v < V::vectors; ++v) codes[v] = rounded_lanes(x.at[v] * inverse);
              V::put_codes(codes, out + 2);
            });
      });
}

}  // namespace modelutils::encode
