#include "rules/gguf/vocabulary.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils {
namespace {

TEST(TokenTable, FindsWhatWasInsertedAndNothingElse) {
  const TextHash hash;
  TokenTable table(3);
  EXPECT_EQ(table.insert(hash("a"), 0), std::nullopt);
  EXPECT_EQ(table.insert(hash("b"), 1), std::nullopt);
  EXPECT_EQ(table.insert(hash("a"), 2), 0u);
  EXPECT_TRUE(table.contains(hash("b")));
  EXPECT_FALSE(table.contains(hash("c")));
  EXPECT_FALSE(table.contains(hash("")));
}

TEST(TokenTable, HoldsAsManyAsItWasMadeFor) {
  constexpr u32 count = 100000;
  TokenTable table(count);
  const TextHash text_hash;
  const auto hash = [&](u32 i) { return text_hash("token " + std::to_string(i)); };
  for (u32 i = 0; i < count; ++i) ASSERT_EQ(table.insert(hash(i), i), std::nullopt);
  for (u32 i = 0; i < count; i += 997) EXPECT_EQ(table.insert(hash(i), 0), i);
  EXPECT_FALSE(table.contains(hash(count)));
}

TEST(TokenTable, AnEmptyTableHoldsNothing) {
  const TextHash hash;
  const TokenTable table(0);
  EXPECT_FALSE(table.contains(hash("a")));
}

}  // namespace
}  // namespace modelutils
