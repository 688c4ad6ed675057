#include "base/types.h"

#include <gtest/gtest.h>

#include <array>

namespace modelutils {

namespace {

constexpr u64 most = ~u64{0};

TEST(CheckedMath, AddsAndMultiplies) {
  EXPECT_EQ(checked_add(most, 0), most);
  EXPECT_EQ(checked_add(most, 1), std::nullopt);
  EXPECT_EQ(checked_mul(u64{1} << 32, u64{1} << 31), u64{1} << 63);
  EXPECT_EQ(checked_mul(u64{1} << 32, u64{1} << 32), std::nullopt) << "the product wraps to 0";
  EXPECT_EQ(checked_mul(most, 0), 0u);
}

TEST(CheckedMath, ProductsDoNotHideAnOverflowBehindAZero) {
  const auto product = [](std::initializer_list<u64> factors) {
    return checked_product(std::span(factors.begin(), factors.size()));
  };
  EXPECT_EQ(product({}), 1u);
  EXPECT_EQ(product({3, 5, 7}), 105u);
  EXPECT_EQ(product({0, most, most}), 0u);
  EXPECT_EQ(product({most, most, 0}), std::nullopt);
}

TEST(CheckedMath, RoundsUpToAnyMultiple) {
  EXPECT_EQ(checked_round_up(0, 32), 0u);
  EXPECT_EQ(checked_round_up(1, 32), 32u);
  EXPECT_EQ(checked_round_up(32, 32), 32u);
  EXPECT_EQ(checked_round_up(25, 24), 48u);
  EXPECT_EQ(checked_round_up(7, 1), 7u);
  EXPECT_EQ(checked_round_up(most, 2), std::nullopt);
  EXPECT_EQ(checked_round_up(most - 30, 32), std::nullopt);
  EXPECT_EQ(checked_round_up(most, most), most);
}

TEST(CheckedMath, FitsWithoutAdding) {
  EXPECT_TRUE(fits(0, 0, 0));
  EXPECT_TRUE(fits(10, 0, 10));
  EXPECT_TRUE(fits(4, 6, 10));
  EXPECT_FALSE(fits(4, 7, 10));
  EXPECT_FALSE(fits(11, 0, 10));
  EXPECT_FALSE(fits(most - 3, 10, most)) << "the end wraps";
}

TEST(CheckedMath, CastsOnlyWhatFits) {
  EXPECT_EQ(checked_cast<u8>(255), 255);
  EXPECT_EQ(checked_cast<u8>(256), std::nullopt);
  EXPECT_EQ(checked_cast<i32>(0x7fffffff), 0x7fffffff);
  EXPECT_EQ(checked_cast<i32>(0x80000000), std::nullopt);
  EXPECT_EQ(checked_cast<i64>(most), std::nullopt);
  EXPECT_EQ(checked_cast<u64>(most), most);
}

TEST(CheckedMath, PowersOfTwo) {
  EXPECT_FALSE(is_power_of_two(0));
  EXPECT_TRUE(is_power_of_two(1));
  EXPECT_FALSE(is_power_of_two(24));
  EXPECT_TRUE(is_power_of_two(u64{1} << 63));
}

}  // namespace

}  // namespace modelutils
