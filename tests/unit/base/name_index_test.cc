#include "base/name_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace modelutils {

namespace {

TEST(ZeroedArray, HoldsZerosAndWhatIsWritten) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{2} << 20) / sizeof(u64), std::size_t{700001}}) {
    ZeroedArray<u64> array(size);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(array[i], 0u) << size;
      array[i] = i + 1;
    }
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(array[i], i + 1) << size;
  }
}

TEST(ZeroedArray, BeginsWhereALargePageMay) {
  const ZeroedArray<u8> array((std::size_t{3} << 20) + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % (std::size_t{2} << 20), 0u);
}

TEST(NameIndex, NumbersInOrderOfFirstAppearance) {
  NameIndex index;
  EXPECT_EQ(index.find("a"), std::nullopt);
  EXPECT_EQ(index.insert("a").number, 0u);
  EXPECT_TRUE(index.insert("").is_new);
  const NameIndex::Inserted again = index.insert("a");
  EXPECT_EQ(again.number, 0u);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(index.find(""), 1u);
  EXPECT_EQ(index.size(), 2u);
  EXPECT_EQ(index.name(1), "");
  EXPECT_EQ(index.find(std::string_view("a\0", 2)), std::nullopt);
}

TEST(NameIndex, ManyNames) {
  std::vector<std::string> names;
  for (int i = 0; i < 100000; ++i) names.push_back("name " + std::to_string(i));
  for (const bool reserved : {false, true}) {
    NameIndex index;
    if (reserved) index.reserve(names.size());
    for (u32 i = 0; i < names.size(); ++i) {
      const NameIndex::Inserted inserted = index.insert(names[i]);
      ASSERT_TRUE(inserted.is_new);
      ASSERT_EQ(inserted.number, i);
    }
    for (u32 i = 0; i < names.size(); ++i) {
      ASSERT_EQ(index.find(names[i]), i);
      ASSERT_FALSE(index.insert(names[i]).is_new);
    }
    EXPECT_EQ(index.find("name"), std::nullopt);
    EXPECT_EQ(index.size(), names.size());
  }
}

TEST(NameIndex, TakesHashesThatWereMadeBefore) {
  NameIndex index;
  for (u32 i = 0; i < 5000; ++i) {
    const std::string name = "model.layers." + std::to_string(i) + std::string(1, '\0') + "w";
    const u32 hash = NameIndex::hash(name);
    index.prefetch(hash);
    ASSERT_EQ(index.insert(name, hash).number, i);
    ASSERT_EQ(index.find(name), i);
  }
  EXPECT_EQ(index.find("model.layers.1"), std::nullopt);
}

}  // namespace

// Sets of pairs of numbers, possibly millions.

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
