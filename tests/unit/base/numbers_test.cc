#include "base/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace modelutils {
namespace {

TEST(Numbers, BytesHaveThreeDigitsAndRoundUpIntoTheNextUnit) {
  EXPECT_EQ(byte_text(0), "0 B");
  EXPECT_EQ(byte_text(999), "999 B");
  EXPECT_EQ(byte_text(1000), "1.00 kB");
  EXPECT_EQ(byte_text(4660), "4.66 kB");
  EXPECT_EQ(byte_text(9999), "10.0 kB");
  EXPECT_EQ(byte_text(99'949), "99.9 kB");
  EXPECT_EQ(byte_text(99'950), "100 kB");
  EXPECT_EQ(byte_text(999'499), "999 kB");
  EXPECT_EQ(byte_text(999'500), "1.00 MB");
  EXPECT_EQ(byte_text(std::numeric_limits<u64>::max()), "18.4 EB");
}

TEST(Numbers, Counts) {
  EXPECT_EQ(count_text(751), "751");
  EXPECT_EQ(count_text(12'345), "12.3 K");
  EXPECT_EQ(count_text(7'241'732'096), "7.24 B");
  EXPECT_EQ(count_text(std::numeric_limits<u64>::max()), "18446744 T");
}

TEST(Numbers, Durations) {
  EXPECT_EQ(duration_text(0.2), "0s");
  EXPECT_EQ(duration_text(59.4), "59s");
  EXPECT_EQ(duration_text(125), "2m05s");
  EXPECT_EQ(duration_text(4320), "1h12m");
  EXPECT_EQ(duration_text(-1), "0s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "0s");
}

TEST(Numbers, FloatsAreTheShortestThatReadBack) {
  EXPECT_EQ(float_text(0.1F), "0.1");
  EXPECT_EQ(float_text(1e-5F), "1e-05");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(static_cast<double>(0.1F)), "0.10000000149011612");
  EXPECT_EQ(float_text(-0.0F), "-0");
  EXPECT_EQ(float_text(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(bits_text(4.4999), "4.50");
}

}  // namespace
}  // namespace modelutils
