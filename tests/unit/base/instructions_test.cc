#include "base/instructions.h"

#include <gtest/gtest.h>

namespace modelutils {

namespace {

std::size_t width_of(WideInstructions instructions) {
  std::size_t bytes = 0;
  run_with(instructions, [&](auto width) { bytes = decltype(width)::value; });
  return bytes;
}

TEST(WideInstructions, GiveTheWidthOfTheirVectors) {
  EXPECT_EQ(width_of(WideInstructions::any_machine), 16U);
  if (best_instructions() == Instructions::avx2) {
    EXPECT_EQ(width_of(wide(Instructions::avx2)), 32U);
  }
  if (widest_instructions() == WideInstructions::avx512) {
    EXPECT_EQ(width_of(WideInstructions::avx512), 64U);
  }
}

// AVX-512 implies the narrower instruction sets.
TEST(WideInstructions, AreNeverFewer) {
  EXPECT_GE(widest_instructions(), wide(best_instructions()));
  if (widest_instructions() == WideInstructions::avx512) {
    EXPECT_EQ(best_instructions(), Instructions::avx2);
  }
}

}  // namespace

}  // namespace modelutils
