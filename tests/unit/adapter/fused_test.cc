#include "adapter/fused.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace modelutils::adapter {
namespace {

void expect_fused(float a, float b, float c) {
  const float wanted = std::fma(a, b, c);  // the C library's result
  const float got = fused_in_doubles(a, b, c);
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << a << " " << b << " " << c;
  } else {
    EXPECT_EQ(std::bit_cast<u32>(got), std::bit_cast<u32>(wanted)) << a << " " << b << " " << c;
  }
}

TEST(Fused, AnyBits) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    expect_fused(std::bit_cast<float>(static_cast<u32>(random())), std::bit_cast<float>(static_cast<u32>(random())),
                 std::bit_cast<float>(static_cast<u32>(random())));
  }
}

// The product is half a unit in the last place of the sum, or slightly more or less; rounding twice would be wrong.
TEST(Fused, HalfwayCases) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000000; ++i) {
    const float a = std::ldexp(1 + static_cast<float>(random() % 8) * 0x1p-23F, static_cast<int>(random() % 60) - 30);
    const float b = std::ldexp(1 - static_cast<float>(random() % 8) * 0x1p-24F, static_cast<int>(random() % 60) - 30);
    const float c = std::ldexp(1 + static_cast<float>(random() % 16) * 0x1p-23F,
                               std::ilogb(a) + std::ilogb(b) + static_cast<int>(random() % 60));
    expect_fused(random() % 2 == 0 ? a : -a, b, random() % 2 == 0 ? c : -c);
  }
}

TEST(Fused, ValuesAtTheEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {0.0F,
                          -0.0F,
                          1.0F,
                          -1.0F,
                          0x1p-149F,
                          0x1p-126F,
                          0x1.fffffep127F,
                          -0x1.fffffep127F,
                          infinity,
                          -infinity,
                          std::numeric_limits<float>::quiet_NaN()};
  for (const float a : values) {
    for (const float b : values) {
      for (const float c : values) expect_fused(a, b, c);
    }
  }
}

}  // namespace
}  // namespace modelutils::adapter
