#include "adapter/add_product.h"

#include <algorithm>

namespace modelutils::adapter {

namespace {

constexpr std::size_t columns_at_once = 512;  // of A: with a usual rank they stay in the first-level cache

// Four ranks at once, so that the values are loaded and stored once for them.
[[gnu::always_inline]] inline void add_row(const float* a, const float* b, std::size_t rank, std::size_t stride,
                                           std::size_t count, float* out) {
  std::size_t k = 0;
  for (; k + 4 <= rank; k += 4) {
    const float b0 = b[k];
    const float b1 = b[k + 1];
    const float b2 = b[k + 2];
    const float b3 = b[k + 3];
    if (b0 == 0 && b1 == 0 && b2 == 0 && b3 == 0) continue;  // what fills a smaller rank up
    const float* __restrict a0 = a + k * stride;
    const float* __restrict a1 = a0 + stride;
    const float* __restrict a2 = a1 + stride;
    const float* __restrict a3 = a2 + stride;
    float* __restrict to = out;
    for (std::size_t j = 0; j < count; ++j) to[j] = to[j] + b0 * a0[j] + b1 * a1[j] + b2 * a2[j] + b3 * a3[j];
  }
  for (; k < rank; ++k) {
    const float factor = b[k];
    if (factor == 0) continue;
    const float* __restrict from = a + k * stride;
    float* __restrict to = out;
    for (std::size_t j = 0; j < count; ++j) to[j] += factor * from[j];
  }
}

}  // namespace

void add_product(std::span<const float> a, std::span<const float> b, u64 rank, u64 columns, std::span<float> values,
                 Instructions instructions) {
  const auto width = static_cast<std::size_t>(columns);
  const auto ranks = static_cast<std::size_t>(rank);
  const std::size_t rows = width == 0 ? 0 : values.size() / width;
  run_with(
      instructions, [&](auto) __attribute__((always_inline)) {
        for (std::size_t first = 0; first < width; first += columns_at_once) {
          const std::size_t count = std::min(columns_at_once, width - first);
          for (std::size_t row = 0; row < rows; ++row) {
            add_row(a.data() + first, b.data() + row * ranks, ranks, width, count, values.data() + row * width + first);
          }
        }
      });
}

}  // namespace modelutils::adapter
