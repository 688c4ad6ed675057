#include "arch/rope.h"

#include <gtest/gtest.h>

namespace modelutils::arch {
namespace {

// By hand: ln 16 = 2.772588722, ln 8 = 2.079441542.
TEST(YarnMagnitude, GrowsWithTheLogarithmOfTheFactor) {
  EXPECT_NEAR(yarn_magnitude(16, 1), 1.2772588722, 1e-9);
  EXPECT_NEAR(yarn_magnitude(16, 0.5), 1.1386294361, 1e-9);
  EXPECT_EQ(yarn_magnitude(16, 0), 1);
  EXPECT_EQ(yarn_magnitude(0.5, 1), 1);
}

TEST(YarnMagnitude, FollowsTheClassThatReadsTheConfig) {
  hf::RopeScaling scaling;
  scaling.factor = 8;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.2079441542, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.2079441542, 1e-9);
  scaling.mscale = 2;  // mlx-lm needs no second one, Hugging Face's classes do
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.2079441542, 1e-9);
  scaling.mscale_all_dim = 1;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083 / 1.2079441542, 1e-9);
  EXPECT_NEAR(yarn_magnitude(scaling, false), 1.4158883083 / 1.2079441542, 1e-9);
  scaling.attention_factor = 1.5;
  EXPECT_NEAR(yarn_magnitude(scaling, true), 1.4158883083 / 1.2079441542, 1e-9);
  EXPECT_EQ(yarn_magnitude(scaling, false), 1.5);
}

}  // namespace
}  // namespace modelutils::arch
