// Sets of pairs of numbers, possibly millions.
#include "base/pair_set.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

TEST(PairSet, KnowsWhatItHolds) {
  PairSet set;
  EXPECT_FALSE(set.contains(0, 0));
  EXPECT_FALSE(set.contains(1, 2));
  EXPECT_TRUE(set.insert(0, 0));
  EXPECT_FALSE(set.insert(0, 0));
  for (u64 i = 1; i <= 10'000; ++i) EXPECT_TRUE(set.insert(7, i));
  for (u64 i = 1; i <= 10'000; ++i) EXPECT_TRUE(set.insert(i, 7) == (i != 7));
  for (u64 i = 1; i <= 10'000; ++i) EXPECT_FALSE(set.insert(7, i));
  EXPECT_EQ(set.size(), 1u + 10'000 + 9'999);
  EXPECT_TRUE(set.contains(0, 0));
  EXPECT_TRUE(set.contains(9'999, 7));
  EXPECT_FALSE(set.contains(8, 8));
}

}  // namespace
}  // namespace modelutils
