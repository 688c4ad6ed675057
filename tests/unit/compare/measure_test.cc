#include "compare/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace modelutils {

namespace {

// A piece of rows with 5 elements each, starting at element 20: row 4 is equal, rows 5 to 9 differ.
struct Example {
  std::vector<float> a = std::vector<float>(30, 1.0f), b = a;

  Example() { b[7] = 2, b[8] = 1.25f, b[11] = 4, b[15] = -1, b[24] = 1.5f, b[28] = 6; }
};

PieceSums add_up(const Example& example, u64 columns, std::size_t part, double known = 0) {
  PieceSums sums(20, columns, known);
  const std::span<const float> a(example.a), b(example.b);
  for (std::size_t at = 0; at < a.size(); at += part) {
    const std::size_t count = std::min(part, a.size() - at);
    sums.add(a.subspan(at, count), b.subspan(at, count));
  }
  sums.finish();
  return sums;
}

TEST(PieceSums, WhateverThePartsAre) {
  const Example example;
  for (std::size_t part = 1; part <= 30; ++part) {
    SCOPED_TRACE(part);
    const PieceSums got = add_up(example, 5, part);
    EXPECT_EQ(got.sums().aa, 30);
    EXPECT_EQ(got.sums().bb, 24 + 4 + 1.5625 + 16 + 1 + 2.25 + 36);
    EXPECT_EQ(got.sums().dd, 1 + 0.0625 + 9 + 4 + 0.25 + 25);
    EXPECT_EQ(got.sums().max_abs, 5);
    EXPECT_EQ(got.sums().different, 6u);
    EXPECT_EQ(got.first(), 27u);
    EXPECT_EQ(got.first_a(), 1);
    EXPECT_EQ(got.first_b(), 2);
    ASSERT_EQ(got.worst_rows().size(), 3u);
    EXPECT_EQ(got.worst_rows()[0].row, 9u);
    EXPECT_EQ(got.worst_rows()[1].row, 6u);
    EXPECT_EQ(got.worst_rows()[2].row, 7u);
    EXPECT_DOUBLE_EQ(got.worst_rows()[0].rms, std::sqrt(5.0));
    EXPECT_DOUBLE_EQ(got.worst_rows()[2].rms, std::sqrt(0.8));
  }
}

TEST(PieceSums, WithoutRows) {
  const Example example;
  const PieceSums got = add_up(example, 0, 30);
  EXPECT_EQ(got.sums().dd, 39.3125);
  EXPECT_EQ(got.first(), 27u);
  EXPECT_TRUE(got.worst_rows().empty());
}

TEST(PieceSums, AKnownDifferenceIsKept) {
  EXPECT_EQ(add_up(Example(), 5, 7, 8).sums().max_abs, 8);
  EXPECT_EQ(add_up(Example(), 5, 7, 3).sums().max_abs, 5);
}

// More rows than are kept between steps, with the worst among the first.
TEST(PieceSums, ManyRows) {
  std::vector<float> a(10000, 1.0f), b(10000, 1.5f);
  b[17] = 4, b[9000] = 3, b[5000] = 5;
  PieceSums sums(0, 1, 0);
  sums.add(a, b);
  sums.finish();
  ASSERT_EQ(sums.worst_rows().size(), 3u);
  EXPECT_EQ(sums.worst_rows()[0].row, 5000u);
  EXPECT_EQ(sums.worst_rows()[1].row, 17u);
  EXPECT_EQ(sums.worst_rows()[2].row, 9000u);
}

}  // namespace

}  // namespace modelutils
