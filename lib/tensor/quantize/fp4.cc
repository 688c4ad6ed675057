// MXFP4 and NVFP4: the scale is computed without a search; each value takes the nearest of the sixteen codes, the first
// if several are equally near. Importance weights are ignored.
#include <cmath>

#include "tensor/half.h"
#include "tensor/quantize/lanes.h"
#include "tensor/quantize/quantize.h"

namespace modelutils::encode {
namespace {

// The values of the codes, doubled.
constexpr std::array<float, 16> doubled_values = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Computes the codes of `count` values, a multiple of 8.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void nearest_codes(const float* values, u32 count, float d, u8* codes) {
  using L = Lanes<WIDTH>;
  for (u32 i = 0; i < count; i += L::count) {
    typename L::Floats x;
    std::memcpy(&x, values + i, sizeof x);
    typename L::Floats least = magnitude_of(doubled_values[0] * d - x);
    typename L::Ints best{};
    for (u32 code = 1; code < 16; ++code) {
      const auto error = magnitude_of(doubled_values[code] * d - x);
      best = error < least ? typename L::Ints{} + static_cast<int>(code) : best;
      least = error < least ? error : least;
    }
    store_codes<WIDTH>(best, codes + i);
  }
}

[[gnu::always_inline]] inline float largest_of_few(const float* values, u32 count) {
  float largest = 0;
  for (u32 i = 0; i < count; ++i) largest = std::max(largest, magnitude_of(values[i]));
  return largest;
}

// The exponent byte is two less than the exponent of the largest magnitude. If the float logarithm rounds to an
// integer, that integer counts. Magnitudes below 2^-125 wrap around.
u8 exponent_byte(float largest) {
  if (!(largest > 0)) return 0;
  const float logarithm = static_cast<float>(std::log2(static_cast<double>(largest)));
  return static_cast<u8>(truncated(std::floor(logarithm) - 2 + 127));
}

// Returns the UE4M3 byte (4 exponent bits, 3 mantissa bits, no sign) nearest to `value`, at most 448; halves round up.
u8 ue4m3_bits(float value) {
  if (!(value > 0)) return 0;
  const u32 bits = std::bit_cast<u32>(std::min(value, 448.0f));
  const int exponent = static_cast<int>(bits >> 23) - 127 + 7;
  if (exponent <= 0) return static_cast<u8>(std::min(7, truncated(value * 512.0f + 0.5f)));
  // Exponent and mantissa form one number, so that rounding up carries from the mantissa to the exponent.
  const u32 number = (static_cast<u32>(exponent) << 3 | (bits >> 20 & 7)) + (bits >> 19 & 1);
  return static_cast<u8>(std::min(number, 0x7Eu));
}

}  // namespace

void mxfp4(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 32, 17, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              out[0] = exponent_byte(largest_of_few(values, 32));
              u8 codes[32];
              nearest_codes<decltype(width)::value>(values, 32, e8m0_half(out[0]), codes);
              put_nibbles(out + 1, codes);
            });
      });
}

void nvfp4(const Rows& rows) {
  run_with(
      rows.instructions, [&](auto width) __attribute__((flatten)) {
        for_each_block(
            rows, 64, 36, [](const float* values, const float*, u8* out) __attribute__((always_inline)) {
              for (u32 part = 0; part < 4; ++part, values += 16) {
                out[part] = ue4m3_bits(largest_of_few(values, 16) / 6.0f);
                u8 codes[16];
                nearest_codes<decltype(width)::value>(values, 16, ue4m3_half(out[part]), codes);
                for (u32 i = 0; i < 8; ++i) out[4 + 8 * part + i] = static_cast<u8>(codes[i] | codes[8 + i] << 4);
              }
            });
      });
}

}  // namespace modelutils::encode
