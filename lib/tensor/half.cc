#include "tensor/half.h"

#include <array>
#include <limits>

namespace modelutils {

namespace {

constexpr float power_of_two(int exponent) {
  float value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value *= 0.5f;
  return value;
}

// Decodes a sign bit, exponent_bits and mantissa_bits, with subnormals and without special codes.
constexpr float decode_small_float(u32 code, int exponent_bits, int mantissa_bits, int bias) {
  const u32 mantissa = code & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
  const bool negative = (code >> (exponent_bits + mantissa_bits) & 1) != 0;
  const float significand = static_cast<float>(exponent == 0 ? mantissa : mantissa + (1u << mantissa_bits));
  const float value = significand * power_of_two((exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
  return negative ? -value : value;
}

enum class Specials { none, ocp_e4m3, ieee, fnuz };

template <std::size_t SIZE>
constexpr std::array<float, SIZE> decode_all(int exponent_bits, int mantissa_bits, int bias, Specials specials) {
  constexpr float nan = std::bit_cast<float>(0x7FC00000u);
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::array<float, SIZE> values{};
  for (u32 code = 0; code < SIZE; ++code) {
    const u32 magnitude = code & (SIZE / 2 - 1);
    const u32 infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
    float value = decode_small_float(code, exponent_bits, mantissa_bits, bias);
    if (specials == Specials::ocp_e4m3 && magnitude == 0x7F) value = nan;
    if (specials == Specials::fnuz && code == 0x80) value = nan;
    if (specials == Specials::ieee && magnitude == infinity) value = code == magnitude ? inf : -inf;
    if (specials == Specials::ieee && magnitude > infinity) value = nan;
    values[code] = value;
  }
  return values;
}

// Half the E4M3 magnitude, except that 0x7F is 0 and 0xFF has the value that the code would have if it were not NaN.
constexpr std::array<float, 256> decode_ue4m3_half() {
  std::array<float, 256> values{};
  for (u32 code = 0; code < 256; ++code) {
    values[code] = code == 0x7F ? 0.0f : decode_small_float(code & 0x7F, 4, 3, 7) * 0.5f;
  }
  return values;
}

constexpr auto e4m3_values = decode_all<256>(4, 3, 7, Specials::ocp_e4m3);
constexpr auto e5m2_values = decode_all<256>(5, 2, 15, Specials::ieee);
constexpr auto e4m3fnuz_values = decode_all<256>(4, 3, 8, Specials::fnuz);
constexpr auto e5m2fnuz_values = decode_all<256>(5, 2, 16, Specials::fnuz);
constexpr auto e2m3_values = decode_all<64>(2, 3, 1, Specials::none);
constexpr auto e3m2_values = decode_all<64>(3, 2, 3, Specials::none);
constexpr auto e2m1_values = decode_all<16>(2, 1, 1, Specials::none);
constexpr auto ue4m3_half_values = decode_ue4m3_half();

}  // namespace

u16 f32_to_f16(float value) {
  return static_cast<u16>(f16_bits(value));
}

float f8_e4m3_to_f32(u8 bits) {
  return e4m3_values[bits];
}
float f8_e5m2_to_f32(u8 bits) {
  return e5m2_values[bits];
}
float f8_e4m3fnuz_to_f32(u8 bits) {
  return e4m3fnuz_values[bits];
}
float f8_e5m2fnuz_to_f32(u8 bits) {
  return e5m2fnuz_values[bits];
}
float ue4m3_half(u8 bits) {
  return ue4m3_half_values[bits];
}
float f6_e2m3_to_f32(u8 code) {
  return e2m3_values[code & 63];
}
float f6_e3m2_to_f32(u8 code) {
  return e3m2_values[code & 63];
}
float f4_to_f32(u8 code) {
  return e2m1_values[code & 15];
}

}  // namespace modelutils
