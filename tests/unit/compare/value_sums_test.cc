#include "compare/value_sums.h"

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

// 3, 4 against 3, 5 in the middle of zeros: an error of 1 over a length of 5.
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

// Sums one after another in long double, and the two ways of the machine, which must agree to the last bit.
TEST(ValueSums, TheSameOnEveryMachineAndAsOneByOne) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (std::size_t length = 0; length < 300; length += 1 + length / 16) {
    std::vector<float> a(length + 1), b(length + 1);
    for (std::size_t i = 0; i <= length; ++i) {
      a[i] = normal(random) * std::ldexp(1.0f, static_cast<int>(random() % 40) - 20);
      b[i] = random() % 4 == 0 ? a[i] : a[i] * (1 + normal(random) / 64);
    }
    // From the second value on: at an address that no vector has.
    const std::span<const float> left = std::span(a).subspan(1), right = std::span(b).subspan(1);
    long double aa = 0, bb = 0, dd = 0, ab = 0;
    double max_abs = 0;
    u64 different = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const long double x = left[i], y = right[i];
      aa += x * x;
      bb += y * y;
      ab += x * y;
      dd += (y - x) * (y - x);
      max_abs = std::max(max_abs, std::abs(static_cast<double>(right[i]) - static_cast<double>(left[i])));
      different += left[i] != right[i] ? 1 : 0;
    }
    const ValueSums plain = sums_of(left, right, Instructions::any_machine);
    EXPECT_NEAR(plain.aa, static_cast<double>(aa), 1e-14 * plain.aa);
    EXPECT_NEAR(plain.bb, static_cast<double>(bb), 1e-14 * plain.bb);
    EXPECT_NEAR(plain.dd, static_cast<double>(dd), 1e-14 * plain.dd);
    EXPECT_EQ(plain.max_abs, max_abs);
    EXPECT_EQ(plain.different, different);
    if (aa > 0 && bb > 0) {
      EXPECT_NEAR(plain.cosine(), static_cast<double>(ab / std::sqrt(aa * bb)), 1e-14);
    }
    const ValueSums fast = sums_of(left, right, best_instructions());
    EXPECT_EQ(fast.aa, plain.aa);
    EXPECT_EQ(fast.bb, plain.bb);
    EXPECT_EQ(fast.dd, plain.dd);
    EXPECT_EQ(fast.max_abs, plain.max_abs);
    EXPECT_EQ(fast.different, plain.different);
  }
}

// The largest difference is found among squares: its root gives the difference back, for the smallest floats, too.
TEST(ValueSums, LargestDifferenceIsExact) {
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> a(8), b(8);
    a[3] = std::bit_cast<float>(static_cast<u32>(random()) % 0x7F800000u);
    b[3] = std::bit_cast<float>(static_cast<u32>(random()) % 0x7F800000u);
    if (round == 0) a[3] = 0, b[3] = std::numeric_limits<float>::denorm_min();
    for (const Instructions instructions : {Instructions::any_machine, best_instructions()}) {
      EXPECT_EQ(sums_of(a, b, instructions).max_abs, std::abs(static_cast<double>(b[3]) - static_cast<double>(a[3])));
    }
  }
}

}  // namespace
}  // namespace modelutils
