#include "adapter/add_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace modelutils::adapter {
namespace {

// Small whole numbers, so that every sum is exact.
std::vector<float> numbers(std::size_t count, int seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed) % 11 - 5);
  return values;
}

TEST(AddProduct, EverySumIsThatOfTheTriples) {
  for (const std::size_t rank : {1U, 3U, 4U, 6U, 9U}) {
    for (const std::size_t columns : {1U, 5U, 8U, 515U}) {
      constexpr std::size_t rows = 3;
      const std::vector<float> a = numbers(rank * columns, 1);
      std::vector<float> b = numbers(rows * rank, 2);
      std::fill(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(rank), 0.0F);  // a row that stays as it is
      const std::vector<float> before = numbers(rows * columns, 3);
      for (const Instructions instructions : {Instructions::any_machine, best_instructions()}) {
        std::vector<float> values = before;
        add_product(a, b, rank, columns, values, instructions);
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

}  // namespace
}  // namespace modelutils::adapter
