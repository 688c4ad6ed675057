#include "compare/value_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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

}  // namespace
}  // namespace modelutils
