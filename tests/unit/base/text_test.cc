#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace modelutils {

namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "error"), "0 errors");
  EXPECT_EQ(counted(1, "error"), "1 error");
  EXPECT_EQ(counted(2, "error"), "2 errors");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(3, "entry", "entries"), "3 entries");
  EXPECT_EQ(verb(1, "needs", "need"), "needs");
  EXPECT_EQ(verb(0, "needs", "need"), "need");
}

TEST(Counted, Thousands) {
  EXPECT_EQ(thousands(0), "0");
  EXPECT_EQ(thousands(999), "999");
  EXPECT_EQ(thousands(1000), "1,000");
  EXPECT_EQ(thousands(std::numeric_limits<u64>::max()), "18,446,744,073,709,551,615");
}

TEST(Counted, IncompleteFiles) {
  EXPECT_EQ(incomplete_text(50000, 241504), "incomplete: 50,000 of 241,504 bytes (21 %); download it again");
  EXPECT_EQ(incomplete_text(0, 8, true), "incomplete: 0 of at least 8 bytes (less than 1 %); download it again");
  EXPECT_EQ(incomplete_text(241503, 241504), "incomplete: 241,503 of 241,504 bytes (99 %); download it again");
  EXPECT_EQ(incomplete_text(1, std::numeric_limits<u64>::max()),
            "incomplete: 1 of 18,446,744,073,709,551,615 bytes (less than 1 %); download it again");
}

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

TEST(Joined, PutsTheSeparatorBetweenParts) {
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
  EXPECT_EQ(joined(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(joined(std::vector<std::string>{"a", "", "c"}), "a, , c");
  EXPECT_EQ(joined(std::array<std::string_view, 2>{"x", "y"}, " | "), "x | y");
}

TEST(Joined, WritesNumbersInFull) {
  EXPECT_EQ(joined(std::vector<u64>{4096, 0, ~u64{0}}), "4096, 0, 18446744073709551615");
  EXPECT_EQ(joined(std::vector<u64>{1, 2}, ","), "1,2");
}

}  // namespace

}  // namespace modelutils
