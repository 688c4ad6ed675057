#include "base/counted.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace modelutils
