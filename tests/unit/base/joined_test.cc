#include "base/joined.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace modelutils {
namespace {

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
