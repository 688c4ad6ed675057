#include "verify/token_table.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils {
namespace {

TEST(TokenTable, FindsWhatWasInsertedAndNothingElse) {
  TokenTable table(3);
  EXPECT_EQ(table.insert("a", 0), std::nullopt);
  EXPECT_EQ(table.insert("b", 1), std::nullopt);
  EXPECT_EQ(table.insert("a", 2), 0u);
  EXPECT_TRUE(table.contains("b"));
  EXPECT_FALSE(table.contains("c"));
  EXPECT_FALSE(table.contains(""));
}

TEST(TokenTable, HoldsAsManyAsItWasMadeFor) {
  constexpr u32 count = 100000;
  TokenTable table(count);
  for (u32 i = 0; i < count; ++i) ASSERT_EQ(table.insert("token " + std::to_string(i), i), std::nullopt);
  for (u32 i = 0; i < count; i += 997) EXPECT_EQ(table.insert("token " + std::to_string(i), 0), i);
  EXPECT_FALSE(table.contains("token 100000"));
}

TEST(TokenTable, AnEmptyTableHoldsNothing) {
  EXPECT_FALSE(TokenTable(0).contains("a"));
}

}  // namespace
}  // namespace modelutils
