// Every code of every small float, compared with independent arithmetic in double.
#include "tensor/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace modelutils {
namespace {

u32 bits_of(float value) {
  return std::bit_cast<u32>(value);
}

double slow_float(u32 code, int exponent_bits, int mantissa_bits, int bias) {
  const u32 mantissa = code % (1u << mantissa_bits);
  const u32 exponent = (code >> mantissa_bits) % (1u << exponent_bits);
  const double fraction = mantissa / std::ldexp(1.0, mantissa_bits);
  const double value =
      exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
  return (code >> (exponent_bits + mantissa_bits)) % 2 != 0 ? -value : value;
}

void expect_same(float got, double want, u32 code) {
  EXPECT_EQ(static_cast<double>(got), want) << std::hex << code;
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << std::hex << code;
}

TEST(Half, EveryF16Widens) {
  for (u32 code = 0; code < 65536; ++code) {
    const float got = f16_to_f32(static_cast<u16>(code));
    const u32 exponent = code >> 10 & 31;
    if (exponent != 31) {
      expect_same(got, slow_float(code, 5, 10, 15), code);
    } else if ((code & 0x3FF) == 0) {
      expect_same(got, code < 0x8000 ? HUGE_VAL : -HUGE_VAL, code);
    } else {
      EXPECT_EQ(bits_of(got), (code >> 15) << 31 | 0x7FC00000u | (code & 0x3FF) << 13) << std::hex << code;
    }
  }
}

TEST(Half, EveryF16AndBf16RoundTrips) {
  for (u32 code = 0; code < 65536; ++code) {
    const bool f16_nan = (code & 0x7C00) == 0x7C00 && (code & 0x3FF) != 0;
    EXPECT_EQ(f32_to_f16(f16_to_f32(static_cast<u16>(code))), f16_nan ? code | 0x200 : code) << std::hex << code;
    EXPECT_EQ(bits_of(bf16_to_f32(static_cast<u16>(code))), code << 16);
    const bool bf16_nan = (code & 0x7F80) == 0x7F80 && (code & 0x7F) != 0;
    EXPECT_EQ(f32_to_bf16(bf16_to_f32(static_cast<u16>(code))), bf16_nan ? code | 0x40 : code) << std::hex << code;
  }
}

// Between two neighbours, everything below the midpoint rounds down, above it up, and the midpoint to even.
TEST(Half, F16RoundsToNearestEven) {
  for (u32 code = 0; code < 0x7BFF; ++code) {
    const double low = slow_float(code, 5, 10, 15);
    const double high = slow_float(code + 1, 5, 10, 15);
    const float middle = static_cast<float>((low + high) / 2);  // exact: one more bit than an f16
    const u32 even = code % 2 == 0 ? code : code + 1;
    const float below = std::nextafterf(middle, 0);
    const float above = std::nextafterf(middle, 1e9f);
    ASSERT_EQ(f32_to_f16(middle), even) << std::hex << code;
    ASSERT_EQ(f32_to_f16(below), code) << std::hex << code;
    ASSERT_EQ(f32_to_f16(above), code + 1) << std::hex << code;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << std::hex << code;
    ASSERT_EQ(f32_to_f16(-below), code | 0x8000) << std::hex << code;
  }
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xFC00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(std::bit_cast<float>(0x7F800001u)), 0x7E00) << "a NaN never turns into Inf";
}

TEST(Half, Bf16RoundsToNearestEven) {
  for (u32 code = 0; code < 0x7F80; ++code) {
    const float middle = std::bit_cast<float>(code << 16 | 0x8000);
    const u32 even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(f32_to_bf16(middle), even) << std::hex << code;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>((code << 16 | 0x8000) - 1)), code) << std::hex << code;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>((code << 16 | 0x8000) + 1)), code + 1) << std::hex << code;
    ASSERT_EQ(f32_to_bf16(-middle), even | 0x8000) << std::hex << code;
  }
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x7F800001u)), 0x7FC0) << "a NaN never turns into Inf";
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0xFFFFFFFFu)), 0xFFFF);
}

TEST(Half, EveryF8) {
  for (u32 code = 0; code < 256; ++code) {
    const u8 byte = static_cast<u8>(code);
    if (code % 128 == 127) {
      EXPECT_TRUE(std::isnan(f8_e4m3_to_f32(byte)));
    } else {
      expect_same(f8_e4m3_to_f32(byte), slow_float(code, 4, 3, 7), code);
    }
    if (code % 128 > 0x7C) {
      EXPECT_TRUE(std::isnan(f8_e5m2_to_f32(byte))) << code;
    } else if (code % 128 == 0x7C) {
      expect_same(f8_e5m2_to_f32(byte), code < 128 ? HUGE_VAL : -HUGE_VAL, code);
    } else {
      expect_same(f8_e5m2_to_f32(byte), slow_float(code, 5, 2, 15), code);
    }
    if (code == 0x80) {
      EXPECT_TRUE(std::isnan(f8_e4m3fnuz_to_f32(byte)));
      EXPECT_TRUE(std::isnan(f8_e5m2fnuz_to_f32(byte)));
    } else {
      expect_same(f8_e4m3fnuz_to_f32(byte), slow_float(code, 4, 3, 8), code);
      expect_same(f8_e5m2fnuz_to_f32(byte), slow_float(code, 5, 2, 16), code);
    }
    if (code == 255) {
      EXPECT_TRUE(std::isnan(f8_e8m0_to_f32(byte)));
    } else {
      expect_same(f8_e8m0_to_f32(byte), std::ldexp(1.0, static_cast<int>(code) - 127), code);
    }
    expect_same(e8m0_half(byte), std::ldexp(1.0, static_cast<int>(code) - 128), code);
    const double ue4m3 = code == 0x7F ? 0.0 : slow_float(code % 128, 4, 3, 7) / 2;
    expect_same(ue4m3_half(byte), ue4m3, code);
  }
  EXPECT_EQ(f8_e4m3_to_f32(0x7E), 448.0f);
  EXPECT_EQ(f8_e4m3fnuz_to_f32(0x7F), 240.0f);
  EXPECT_EQ(f8_e5m2_to_f32(0x7B), 57344.0f);
  EXPECT_EQ(ue4m3_half(0xFF), 240.0f);
  EXPECT_EQ(ue4m3_half(0x7E), 224.0f);
  EXPECT_EQ(ue4m3_half(0xFE), 224.0f);
}

TEST(Half, EveryF6AndF4) {
  for (u32 code = 0; code < 64; ++code) {
    expect_same(f6_e2m3_to_f32(static_cast<u8>(code)), slow_float(code, 2, 3, 1), code);
    expect_same(f6_e3m2_to_f32(static_cast<u8>(code)), slow_float(code, 3, 2, 3), code);
  }
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (u32 code = 0; code < 16; ++code) {
    expect_same(f4_to_f32(static_cast<u8>(code)), code < 8 ? e2m1[code] : -e2m1[code - 8], code);
  }
  EXPECT_EQ(f6_e2m3_to_f32(31), 7.5f);
  EXPECT_EQ(f6_e3m2_to_f32(31), 28.0f);
}

}  // namespace
}  // namespace modelutils
