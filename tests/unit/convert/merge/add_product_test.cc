#include "convert/merge/add_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace modelutils::adapter {

namespace {

// What fused operations are compared with: the processor's instruction, or else the C library.
#if defined(__x86_64__)
[[gnu::target("fma")]] float by_processor(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
#endif

float fused_once(float a, float b, float c) {
#if defined(__x86_64__)
  if (best_instructions() == Instructions::avx2) return by_processor(a, b, c);
#endif
  return std::fma(a, b, c);
}

void expect_fused(float a, float b, float c) {
  const float wanted = fused_once(a, b, c);
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

// Variants available on this machine, possibly with repetitions.
const WideInstructions all_instructions[] = {WideInstructions::any_machine, wide(best_instructions()),
                                             widest_instructions()};

// Small integers, so that every sum is exact.
std::vector<float> numbers(std::size_t count, int seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed) % 11 - 5);
  return values;
}

TEST(AddProduct, EverySumIsThatOfTheTriples) {
  for (const std::size_t rank : {1U, 3U, 4U, 6U, 9U}) {
    for (const std::size_t columns : {1U, 5U, 8U, 16U, 43U, 515U}) {
      constexpr std::size_t rows = 11;
      const std::vector<float> a = numbers(rank * columns, 1);
      std::vector<float> b = numbers(rows * rank, 2);
      std::fill(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(rank), 0.0F);  // this row must stay unchanged
      std::fill(b.end() - static_cast<std::ptrdiff_t>(rank), b.end(), 0.0F);
      const std::vector<float> before = numbers(rows * columns, 3);
      for (const WideInstructions instructions : all_instructions) {
        std::vector<float> values = before;
        add_product(Panels(a, rank, columns), b, values, instructions);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            float sum = before[i * columns + j];
            for (std::size_t k = 0; k < rank; ++k) sum += b[i * rank + k] * a[k * columns + j];
            ASSERT_EQ(values[i * columns + j], sum) << rank << " " << columns << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// Every product is added with a single rounding, with or without hardware support, also in the columns after the last
// whole vector.
TEST(AddProduct, RoundsOnce) {
  constexpr std::size_t rows = 9;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const std::size_t rank : {1U, 5U, 16U, 17U, 64U}) {
    for (const std::size_t columns : {1U, 15U, 16U, 17U, 31U, 32U, 33U, 63U, 100U, 128U, 129U, 177U}) {
      std::vector<float> a(rank * columns), b(rows * rank), before(rows * columns);
      for (std::vector<float>* some : {&a, &b, &before}) {
        for (float& value : *some) value = normal(random);
      }
      std::vector<float> sums = before;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t k = 0; k < rank; ++k)
          sums[i] = fused_once(b[i / columns * rank + k], a[k * columns + i % columns], sums[i]);
      }
      for (const WideInstructions instructions : all_instructions) {
        std::vector<float> values = before;
        add_product(Panels(a, rank, columns), b, values, instructions);
        ASSERT_EQ(values, sums) << rank << " " << columns << " " << static_cast<int>(instructions);
      }
    }
  }
}

// Padding of a smaller rank changes nothing: neither the sign of a zero nor sums with infinities.
TEST(AddProduct, FourRanksOfZerosAreLeftOut) {
  constexpr std::size_t rank = 8, columns = 32, rows = 8;
  std::vector<float> a(rank * columns, std::numeric_limits<float>::infinity());
  std::fill(a.begin(), a.begin() + 4 * columns, 1.0F);
  std::vector<float> b(rows * rank);
  for (std::size_t k = 0; k < 4; ++k) b[rank + k] = 0.5F;
  for (const WideInstructions instructions : all_instructions) {
    std::vector<float> values(rows * columns, -0.0F);
    add_product(Panels(a, rank, columns), b, values, instructions);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], i / columns == 1 ? 2.0F : 0.0F);
      ASSERT_EQ(std::signbit(values[i]), i / columns != 1);
    }
  }
}

}  // namespace

}  // namespace modelutils::adapter
