#include "arch/sizes.h"

#include <gtest/gtest.h>

namespace modelutils::arch {
namespace {

Sizes known_sizes() {
  Sizes sizes;
  sizes.set("H", 8);
  sizes.set("D", 64);
  sizes.set("K", 2);
  sizes.set_layers("F", {100, 200, 0});
  return sizes;
}

TEST(Sizes, Expressions) {
  const Sizes sizes = known_sizes();
  EXPECT_EQ(evaluate("H*D", sizes), 512u);
  EXPECT_EQ(evaluate("H*D+2*K*D", sizes), 768u);
  EXPECT_EQ(evaluate("(H-K)*D/2", sizes), 192u);
  EXPECT_EQ(evaluate("D%60", sizes), 4u);
  EXPECT_EQ(evaluate("i>=2 & F", sizes, 1), 0u);
  EXPECT_EQ(evaluate("i>=1 & F", sizes, 1), 1u);
  EXPECT_EQ(evaluate("H==8 | K==8", sizes), 1u);
  EXPECT_EQ(evaluate("!K", sizes), 0u);
  EXPECT_EQ(evaluate("K<H", sizes), 1u);
}

TEST(Sizes, ExpressionsWithoutAValue) {
  Sizes sizes = known_sizes();
  EXPECT_FALSE(evaluate("H*Q", sizes));
  EXPECT_FALSE(evaluate("K-H", sizes));
  EXPECT_FALSE(evaluate("H/(K-2)", sizes));
  EXPECT_FALSE(evaluate("", sizes));
  EXPECT_FALSE(evaluate("H*", sizes));
  EXPECT_FALSE(evaluate("H D", sizes));
  sizes.set("B", u64{1} << 63);
  EXPECT_FALSE(evaluate("B*2", sizes));
  EXPECT_FALSE(evaluate("B+B", sizes));
  EXPECT_FALSE(evaluate("F", sizes, 3));
}

TEST(Sizes, UnknownIsFalseInConditions) {
  const Sizes sizes = known_sizes();
  EXPECT_TRUE(holds("", sizes));
  EXPECT_FALSE(holds("X", sizes));
  EXPECT_TRUE(holds("!X", sizes));
  EXPECT_TRUE(holds("F", sizes, 1));
  EXPECT_FALSE(holds("F", sizes, 2));
}

TEST(Sizes, SolvesForOneUnknown) {
  const Sizes sizes = known_sizes();
  EXPECT_EQ(unknown_symbols("H*Q+Q*D+i", sizes), (std::vector<std::string_view>{"Q"}));
  EXPECT_EQ(solve("H*Q", "Q", 96, sizes), 12u);
  EXPECT_EQ(solve("2*Q+K", "Q", 12, sizes), 5u);
  EXPECT_FALSE(solve("H*Q", "Q", 97, sizes));   // not an integer
  EXPECT_FALSE(solve("Q*Q", "Q", 16, sizes));   // not linear
  EXPECT_FALSE(solve("2*Q+K", "Q", 1, sizes));  // negative
}

TEST(Sizes, LayersThatAgreeAreOneValue) {
  Sizes sizes;
  sizes.set_layers("F", {7, 7});
  sizes.settle("F");
  EXPECT_EQ(sizes.values("F"), std::vector<u64>{7});
  sizes.set_layers("F", {7, Sizes::unknown});
  EXPECT_FALSE(sizes.find("F", 1));
  sizes.settle("F");
  EXPECT_EQ(sizes.values("F"), (std::vector<u64>{7, 0}));
}

TEST(Sizes, Shapes) {
  EXPECT_EQ(evaluate_shape("D,H*D,i", known_sizes(), 5), (std::vector<u64>{64, 512, 5}));
  EXPECT_FALSE(evaluate_shape("D,X", known_sizes()));
}

}  // namespace
}  // namespace modelutils::arch
