// Blocks whose levels are signs, or -1, 0 and 1. The scale is the largest magnitude (for Q1_0 the mean). Importance
// weights are ignored.
#include "tensor/quantize/lanes.h"
#include "tensor/quantize/quantize.h"

namespace modelutils::encode {
namespace {

template <std::size_t WIDTH>
[[gnu::always_inline]] inline float largest_magnitude_of(const float* values, u32 count) {
  typename Lanes<WIDTH>::Floats largest{};
  for (u32 i = 0; i < count; i += Lanes<WIDTH>::count) {
    typename Lanes<WIDTH>::Floats some;
    std::memcpy(&some, values + i, sizeof some);
    largest = magnitude_of(some) > largest ? magnitude_of(some) : largest;
  }
  float result = 0;
  for (u32 lane = 0; lane < Lanes<WIDTH>::count; ++lane) result = std::max(result, static_cast<float>(largest[lane]));
  return result;
}

// Computes the levels round(value × inverse) + 1 as bytes, clamped; NaN becomes `other`.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void levels_of(const float* values, u32 count, float inverse, int high, int other,
                                             u8* out) {
  using L = Lanes<WIDTH>;
  for (u32 i = 0; i < count; i += L::count) {
    typename L::Floats some;
    std::memcpy(&some, values + i, sizeof some);
    const auto whole = rounded_lanes(some * inverse);
    const auto level = clamped(whole + 1, 0, high);
    const auto codes =
        whole == typename L::Ints{} + std::numeric_limits<i32>::min() ? typename L::Ints{} + other : level;
    store_codes<WIDTH>(codes, out + i);
  }
}

[[gnu::always_inline]] inline float inverse_of(float d) {
  return d > 0 ? 1.0f / d : 0.0f;
}

// Packs base-3 digits, most significant first, into a byte: the fraction times 256, rounded up.
[[gnu::always_inline]] inline u8 packed_digits(const u8* digits, u32 stride, u32 count) {
  u32 number = 0;
  for (u32 i = 0; i < 5; ++i) number = 3 * number + (i < count ? digits[i * stride] : 0u);
  return static_cast<u8>((number * 256 + 242) / 243);
}

}  // namespace

void q1_0(const Rows& rows) {
  for_each_block(
      rows, 128, 18, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
        float sum = 0;
        for (u32 i = 0; i < 128; ++i) sum += magnitude_of(values[i]);
        put_half(out, sum / 128);
        for (u32 byte = 0; byte < 16; ++byte) {
          u32 bits = 0;
          for (u32 i = 0; i < 8; ++i) bits |= (values[8 * byte + i] >= 0 ? 1u : 0u) << i;
          out[2 + byte] = static_cast<u8>(bits);
        }
      });
}

void q2_0(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 64, 18, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              const float d = largest_magnitude_of<bytes>(values, 64);
              u8 codes[64];
              levels_of<bytes>(values, 64, inverse_of(d), 3, 0, codes);
              put_half(out, d);
              for (u32 i = 0; i < 16; ++i) {
                const u8* four = codes + 4 * i;
                out[2 + i] = static_cast<u8>(four[0] | four[1] << 2 | four[2] << 4 | four[3] << 6);
              }
            });
      });
}

void tq1_0(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 54, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              const float d = largest_magnitude_of<bytes>(values, 256);
              u8 digits[256];
              levels_of<bytes>(values, 256, inverse_of(d), 2, 1, digits);
              for (u32 i = 0; i < 32; ++i) out[i] = packed_digits(digits + i, 32, 5);
              for (u32 i = 0; i < 16; ++i) out[32 + i] = packed_digits(digits + 160 + i, 16, 5);
              for (u32 i = 0; i < 4; ++i) out[48 + i] = packed_digits(digits + 240 + i, 4, 4);
              put_half(out + 52, d);
            });
      });
}

void tq2_0(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 256, 66, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              constexpr std::size_t bytes = decltype(width)::value;
              const float d = largest_magnitude_of<bytes>(values, 256);
              u8 codes[256];
              levels_of<bytes>(values, 256, inverse_of(d), 2, 1, codes);
              put_planes_of_two(out, codes);
              put_half(out + 64, d);
            });
      });
}

}  // namespace modelutils::encode
