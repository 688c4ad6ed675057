#include "base/name_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace modelutils {
namespace {

TEST(NameIndex, NumbersNamesInOrderOfArrival) {
  NameIndex index;
  EXPECT_EQ(index.find("a"), std::nullopt);
  EXPECT_EQ(index.insert("a").number, 0u);
  EXPECT_TRUE(index.insert("b").is_new);
  const NameIndex::Inserted again = index.insert("a");
  EXPECT_EQ(again.number, 0u);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(index.size(), 2u);
  EXPECT_EQ(index.name(1), "b");
  EXPECT_EQ(index.find("b"), 1u);
  EXPECT_EQ(index.find(""), std::nullopt);
}

TEST(NameIndex, HoldsManyNamesAndNamesThatDifferInOneByte) {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("model.layers." + std::to_string(i) + std::string(1, '\0') + "w");
  NameIndex index;
  for (const std::string& name : names) ASSERT_TRUE(index.insert(name).is_new);
  NameIndex reserved;
  reserved.reserve(names.size());
  for (u32 i = 0; i < names.size(); ++i) {
    const u32 hash = NameIndex::hash(names[i]);
    reserved.prefetch(hash);
    ASSERT_EQ(reserved.insert(names[i], hash).number, i);
    ASSERT_EQ(index.find(names[i]), i);
  }
  EXPECT_EQ(reserved.find("model.layers.1"), std::nullopt);
}

}  // namespace
}  // namespace modelutils
