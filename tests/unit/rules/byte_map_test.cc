#include "model/catalog.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

TEST(ByteMap, ContiguousSpansLeaveNothing) {
  const ByteMap map = map_bytes({{0, 4, 0}, {4, 8, 1}}, 0, 8);
  EXPECT_TRUE(map.gaps.empty());
  EXPECT_TRUE(map.overlaps.empty());
}

TEST(ByteMap, FindsGapsAtBothEndsAndBetween) {
  const ByteMap map = map_bytes({{10, 12, 1}, {2, 4, 0}}, 0, 20);
  ASSERT_EQ(map.gaps.size(), 3u);
  EXPECT_EQ(map.gaps[0].begin, 0u);
  EXPECT_EQ(map.gaps[0].end, 2u);
  EXPECT_EQ(map.gaps[0].before, ByteGap::no_span);
  EXPECT_EQ(map.gaps[1].before, 0u);
  EXPECT_EQ(map.gaps[1].after, 1u);
  EXPECT_EQ(map.gaps[2].begin, 12u);
  EXPECT_EQ(map.gaps[2].after, ByteGap::no_span);
}

TEST(ByteMap, AnOverlapNamesTheSpanThatReachesFurthest) {
  const ByteMap map = map_bytes({{0, 100, 0}, {10, 20, 1}, {30, 40, 2}}, 0, 100);
  ASSERT_EQ(map.overlaps.size(), 2u);
  EXPECT_EQ(map.overlaps[1].first, 0u);
  EXPECT_EQ(map.overlaps[1].second, 2u);
  EXPECT_EQ(map.overlaps[1].end - map.overlaps[1].begin, 10u);
  EXPECT_TRUE(map.gaps.empty());
}

TEST(ByteMap, IgnoresEmptySpansAndCutsWhatLiesOutside) {
  const ByteMap map = map_bytes({{5, 5, 0}, {0, ~u64{0}, 1}}, 2, 6);
  EXPECT_TRUE(map.gaps.empty());
  EXPECT_TRUE(map.overlaps.empty());
  EXPECT_EQ(map_bytes({}, 3, 3).gaps.size(), 0u);
  EXPECT_EQ(map_bytes({}, 3, 4).gaps.size(), 1u);
}

}  // namespace
}  // namespace modelutils
