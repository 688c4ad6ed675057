#include "tensor/value_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace modelutils {

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

TEST(ErrorPercent, TwoSignificantDigits) {
  EXPECT_EQ(error_percent(0), "0");
  EXPECT_EQ(error_percent(0.00533), "0.53 %");
  EXPECT_EQ(error_percent(0.01), "1 %");
  EXPECT_EQ(error_percent(0.0996), "10 %");
  EXPECT_EQ(error_percent(0.994), "99 %");
  EXPECT_EQ(error_percent(0.996), "100 %");
  EXPECT_EQ(error_percent(1.239), "120 %");
  EXPECT_EQ(error_percent(87.6), "8800 %");
  EXPECT_EQ(error_percent(1.23e-7), "1.2e-05 %");
  EXPECT_EQ(error_percent(static_cast<double>(inf)), "infinite");
}

// 3, 4 and 3, 5 in the middle of zeros: an error of 1 relative to a length of 5.
TEST(ValueSums, ByHand) {
  for (const std::size_t length : {std::size_t{2}, std::size_t{8}, std::size_t{19}}) {
    std::vector<float> a(length), b(length);
    a[0] = b[0] = 3;
    a[length - 1] = 4;
    b[length - 1] = 5;
    const ValueSums sums = sums_of(a, b);
    EXPECT_EQ(sums.aa, 25);
    EXPECT_EQ(sums.dd, 1);
    EXPECT_EQ(sums.max_abs, 1);
    EXPECT_EQ(sums.different, 1u);
    EXPECT_EQ(sums.unordered, 0u);
    EXPECT_DOUBLE_EQ(sums.rms(), 0.2);
    EXPECT_DOUBLE_EQ(sums.cosine(), 29 / (5 * std::sqrt(34.0)));
    EXPECT_EQ(first_difference(a, b), length - 1);
  }
}

TEST(ValueSums, ZerosOfBothSignsAreEqual) {
  const std::vector<float> a = {0.0f, 1.0f}, b = {-0.0f, 1.0f};
  EXPECT_EQ(sums_of(a, b).different, 0u);
  EXPECT_EQ(first_difference(a, b), std::nullopt);
  EXPECT_EQ(sums_of(a, b).rms(), 0);
  EXPECT_EQ(sums_of(a, b).cosine(), 1);
}

TEST(ValueSums, WhatIsNotFiniteOnlyCounts) {
  std::vector<float> a(16, 1.0f), b(16, 1.0f);
  a[1] = b[1] = nan;   // equal
  a[2] = b[2] = -inf;  // equal
  EXPECT_EQ(sums_of(a, b).different, 0u);
  EXPECT_EQ(sums_of(a, b).aa, 14);
  b[3] = nan;
  a[4] = inf;
  a[5] = inf;
  b[5] = -inf;
  b[6] = 3;
  const ValueSums sums = sums_of(a, b);
  EXPECT_EQ(sums.different, 4u);
  EXPECT_EQ(sums.unordered, 3u);
  EXPECT_EQ(sums.aa, 11);
  EXPECT_EQ(sums.dd, 4);
  EXPECT_EQ(sums.max_abs, 2);
  EXPECT_EQ(first_difference(a, b), 3u);
}

TEST(ValueSums, OnlyOneSideHasValues) {
  const std::vector<float> zeros(9), ones(9, 1.0f);
  EXPECT_EQ(sums_of(zeros, ones).rms(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sums_of(zeros, ones).cosine(), 0);
  EXPECT_EQ(sums_of(ones, zeros).rms(), 1);
  EXPECT_EQ(sums_of(ones, zeros).cosine(), 0);
}

TEST(ValueSums, LargeValuesDoNotOverflow) {
  const std::vector<float> a(8, 3e38f), b(8, -3e38f);
  EXPECT_DOUBLE_EQ(sums_of(a, b).rms(), 2);
  EXPECT_DOUBLE_EQ(sums_of(a, b).cosine(), -1);
  EXPECT_EQ(sums_of(a, b).max_abs, 2 * static_cast<double>(3e38f));
}

// The accuracy that convert/transfer/report.h promises.
constexpr double near = 0x1p-20;

void expect_same(const ValueSums& got, const ValueSums& want) {
  EXPECT_EQ(got.aa, want.aa);
  EXPECT_EQ(got.bb, want.bb);
  EXPECT_EQ(got.ab, want.ab);
  EXPECT_EQ(got.dd, want.dd);
  EXPECT_EQ(got.max_abs, want.max_abs);
  EXPECT_EQ(got.different, want.different);
  EXPECT_EQ(got.unordered, want.unordered);
}

// Compares with sequential sums in long double; all instruction sets must agree to the last bit.
void expect_sums(std::span<const float> left, std::span<const float> right) {
  long double aa = 0, bb = 0, dd = 0, ab = 0;
  double max_abs = 0;
  u64 different = 0, unordered = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool is_equal = left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]));
    const bool is_finite = std::isfinite(left[i]) && std::isfinite(right[i]);
    different += is_equal ? 0 : 1;
    unordered += is_equal || is_finite ? 0 : 1;
    if (!is_finite) continue;
    const long double x = left[i], y = right[i];
    aa += x * x;
    bb += y * y;
    ab += x * y;
    dd += (y - x) * (y - x);
    max_abs = std::max(max_abs, std::abs(static_cast<double>(right[i]) - static_cast<double>(left[i])));
  }
  const ValueSums plain = sums_of(left, right, 0, WideInstructions::any_machine);
  EXPECT_NEAR(plain.aa, static_cast<double>(aa), near * plain.aa);
  EXPECT_NEAR(plain.bb, static_cast<double>(bb), near * plain.bb);
  EXPECT_NEAR(plain.dd, static_cast<double>(dd), near * plain.dd);
  EXPECT_EQ(plain.max_abs, max_abs);
  EXPECT_EQ(plain.different, different);
  EXPECT_EQ(plain.unordered, unordered);
  EXPECT_NEAR(plain.ab, static_cast<double>(ab), near * static_cast<double>(std::sqrt(aa * bb)));
  if (aa > 0 && bb > 0) {
    EXPECT_NEAR(plain.cosine(), static_cast<double>(ab / std::sqrt(aa * bb)), 4 * near);
  }
  for (const WideInstructions instructions :
       {WideInstructions::any_machine, wide(best_instructions()), widest_instructions()}) {
    expect_same(sums_of(left, right, 0, instructions), plain);
    ValueSums error;
    measure(left, right, error, instructions);
    EXPECT_EQ(error.unordered, unordered);
    EXPECT_NEAR(error.aa, static_cast<double>(aa), near * plain.aa);
    if (unordered > 0) {
      EXPECT_TRUE(std::isinf(error.dd) && std::isinf(error.max_abs));
      continue;
    }
    EXPECT_NEAR(error.dd, static_cast<double>(dd), near * plain.dd);
    EXPECT_EQ(error.max_abs, max_abs);
  }
}

TEST(ValueSums, TheSameOnEveryMachineAndAsOneByOne) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (std::size_t length = 0; length < 3000; length += 1 + length / 16) {
    SCOPED_TRACE(length);
    std::vector<float> a(length + 1), b(length + 1);
    for (std::size_t i = 0; i <= length; ++i) {
      a[i] = normal(random) * std::ldexp(1.0f, static_cast<int>(random() % 40) - 20);
      b[i] = random() % 4 == 0 ? a[i] : a[i] * (1 + normal(random) / 64);
    }
    // Start at the second value, so that vectors are unaligned.
    expect_sums(std::span(a).subspan(1), std::span(b).subspan(1));
  }
}

// Float sums would be inaccurate or zero here; this must be detected in every position, including after the last run.
TEST(ValueSums, WhatFloatsCannotAddUp) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const std::pair<float, float> hostile[] = {
      {nan, 1.0f},  {1.0f, nan},   {nan, nan},     {inf, 1.0f},    {1.0f, inf},      {inf, inf},       {inf, -inf},
      {nan, inf},   {3e38f, 1.0f}, {1.0f, -3e38f}, {3e38f, 3e38f}, {3e38f, -3e38f},  {1e20f, 1.1e20f}, {1e-20f, 0.0f},
      {0.0f, 0.0f}, {0.0f, -0.0f}, {1e-45f, 0.0f}, {0.0f, 1e-40f}, {1e-38f, 2e-38f}, {1e18f, 1e18f},
  };
  const float backgrounds[] = {0.0f, 1.0f, 1e-15f, 1e-25f, 1e-42f, 1e18f, 1e30f};
  for (const std::size_t length : {std::size_t{16}, std::size_t{37}, std::size_t{256}, std::size_t{1000}}) {
    for (const float background : backgrounds) {
      SCOPED_TRACE(background);
      std::vector<float> a(length), b(length);
      for (std::size_t i = 0; i < length; ++i) {
        a[i] = normal(random) * background;
        b[i] = a[i];
      }
      for (const auto& [x, y] : hostile) {
        SCOPED_TRACE(testing::Message() << x << " against " << y << " among " << length);
        for (const std::size_t at : {std::size_t{0}, length / 2, length - 1}) {
          std::vector<float> left = a, right = b;
          left[at] = x;
          right[at] = y;
          expect_sums(left, right);
          for (float& value : right) value *= 1.5f;
          expect_sums(left, right);
        }
      }
    }
  }
}

// Only the last bit of one value differs; at 1e-20, the square of the difference underflows a float.
TEST(ValueSums, OneLastBitIsNotLost) {
  for (const float value : {1.0f, 0.01f, 1e-6f, 1e-10f, 1e-20f, 1e-44f, 1e17f, 1e38f}) {
    SCOPED_TRACE(value);
    std::vector<float> a(4096, value);
    for (const std::size_t at : {std::size_t{0}, std::size_t{2047}, std::size_t{4095}}) {
      std::vector<float> b = a;
      b[at] = std::nextafter(value, inf);
      const double difference = static_cast<double>(b[at]) - static_cast<double>(value);
      const ValueSums sums = sums_of(a, b);
      EXPECT_EQ(sums.different, 1u);
      EXPECT_EQ(sums.max_abs, difference);
      EXPECT_NEAR(sums.rms(), difference / static_cast<double>(value) / 64, near * sums.rms());
      EXPECT_NEAR(sums.cosine(), 1, 4 * near);
      expect_sums(a, b);
    }
  }
}

// Rounding always in the same direction, and one side much longer than the other.
TEST(ValueSums, FewDigitsAreLostInLongSums) {
  for (const float value : {0.1f, 1.0f / 3, 0.7f, 1.9999999f}) {
    for (const float factor : {1.0f, 1.0000001f, -1.0f, 3.9f, 4.1f, 1e-3f, 1e4f}) {
      SCOPED_TRACE(testing::Message() << value << " times " << factor);
      const std::vector<float> a(100000, value), b(100000, value * factor);
      expect_sums(a, b);
      expect_sums(b, a);
    }
  }
}

// Only differences above the known one are searched for; without any, the result is the known one.
TEST(ValueSums, AKnownDifference) {
  std::vector<float> a(64, 1.0f), b(64, 1.25f);
  b[40] = 1.5f;
  for (const std::size_t length : {std::size_t{64}, std::size_t{47}, std::size_t{5}}) {
    const std::span<const float> x = std::span(a).last(length), y = std::span(b).last(length);
    const double largest = length > 23 ? 0.5 : 0.25;
    EXPECT_EQ(sums_of(x, y, 0.125).max_abs, largest);
    EXPECT_EQ(sums_of(x, y, largest).max_abs, largest);
    EXPECT_EQ(sums_of(x, y, std::nextafter(largest, 0)).max_abs, largest);
    EXPECT_EQ(sums_of(x, y, 7).max_abs, 7);
    EXPECT_EQ(sums_of(x, y, static_cast<double>(inf)).max_abs, static_cast<double>(inf));
    EXPECT_EQ(sums_of(x, y, 7).dd, sums_of(x, y).dd);
  }
  a.assign(64, inf);
  EXPECT_EQ(sums_of(a, b, 7).max_abs, 7);
}

// Differences that round to the same float: 2^-24 apart, at both ends of an interval.
TEST(ValueSums, TheLargestOfDifferencesThatRoundAlike) {
  std::vector<float> a(32, 0.0f), b(32, 1.0f);
  a[3] = -0x1p-26f;  // 1 + 2^-26
  a[20] = -0x1p-25f;
  EXPECT_EQ(sums_of(a, b).max_abs, 1 + 0x1p-25);
  EXPECT_EQ(sums_of(a, b, 1).max_abs, 1 + 0x1p-25);
  EXPECT_EQ(sums_of(a, b, 1 + 0x1p-26).max_abs, 1 + 0x1p-25);
}

// Also for the smallest floats.
TEST(ValueSums, LargestDifferenceIsExact) {
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> a(32), b(32);
    a[3] = std::bit_cast<float>(static_cast<u32>(random()) % 0x7F800000u);
    b[3] = std::bit_cast<float>(static_cast<u32>(random()) % 0x7F800000u);
    if (round == 0) a[3] = 0, b[3] = std::numeric_limits<float>::denorm_min();
    const double largest = std::abs(static_cast<double>(b[3]) - static_cast<double>(a[3]));
    for (const WideInstructions instructions :
         {WideInstructions::any_machine, wide(best_instructions()), widest_instructions()}) {
      EXPECT_EQ(sums_of(a, b, 0, instructions).max_abs, largest);
    }
    ValueSums measured;
    measure(a, b, measured);
    EXPECT_EQ(measured.max_abs, largest);
  }
}

// Accumulates over several arrays; NaN on one side only is infinite, on both sides it is no difference.
TEST(Measure, AddsUpWhatIsLost) {
  ValueSums error;
  measure(std::vector<float>{3, 4, nan}, std::vector<float>{3, 5, nan}, error);
  measure(std::vector<float>{0, 12}, std::vector<float>{0.5F, 12}, error);
  EXPECT_EQ(error.aa, 25 + 144);
  EXPECT_EQ(error.dd, 1.25);
  EXPECT_EQ(error.max_abs, 1);
  EXPECT_EQ(error.rms(), std::sqrt(1.25 / 169));
  measure(std::vector<float>{1}, std::vector<float>{inf}, error);
  EXPECT_EQ(error.dd, inf);
  EXPECT_EQ(error.max_abs, inf);
  EXPECT_EQ(error.rms(), inf);
}

}  // namespace

}  // namespace modelutils
