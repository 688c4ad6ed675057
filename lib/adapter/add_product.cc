#include "adapter/add_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace modelutils::adapter {

namespace {

constexpr std::size_t rows_at_once = 4;  // share what is loaded of A
constexpr std::size_t panel_columns = 128;

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

// Would add_row() leave no rank out?
bool has_all_ranks(const float* b, std::size_t rank) {
  const std::size_t whole = rank / 4 * 4;
  for (std::size_t k = 0; k < whole; k += 4) {
    if (b[k] == 0 && b[k + 1] == 0 && b[k + 2] == 0 && b[k + 3] == 0) return false;
  }
  return std::find(b + whole, b + rank, 0.0f) == b + rank;
}

// Four rows and two vectors of columns, whose sums stay in registers from the first rank to the last.
template <std::size_t WIDTH>
[[gnu::always_inline]] inline void add_square(const float* panel, const float* b, std::size_t rank, float* out,
                                              std::size_t row_stride) {
  using Floats [[gnu::vector_size(WIDTH)]] = float;
  constexpr std::size_t lanes = WIDTH / sizeof(float);
  Floats sums[rows_at_once][2];
#pragma GCC unroll 4
  for (std::size_t row = 0; row < rows_at_once; ++row) {
    std::memcpy(&sums[row][0], out + row * row_stride, sizeof(Floats));
    std::memcpy(&sums[row][1], out + row * row_stride + lanes, sizeof(Floats));
  }
  for (std::size_t k = 0; k < rank; ++k, panel += panel_columns) {
    Floats left, right;
    std::memcpy(&left, panel, sizeof left);
    std::memcpy(&right, panel + lanes, sizeof right);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < rows_at_once; ++row) {
      const float factor = b[row * rank + k];
      sums[row][0] += left * factor;
      sums[row][1] += right * factor;
    }
  }
#pragma GCC unroll 4
  for (std::size_t row = 0; row < rows_at_once; ++row) {
    std::memcpy(out + row * row_stride, &sums[row][0], sizeof(Floats));
    std::memcpy(out + row * row_stride + lanes, &sums[row][1], sizeof(Floats));
  }
}

}  // namespace

void add_product(std::span<const float> a, std::span<const float> b, u64 rank, u64 columns, std::span<float> values,
                 Instructions instructions) {
  const auto width = static_cast<std::size_t>(columns);
  const auto ranks = static_cast<std::size_t>(rank);
  const std::size_t rows = width == 0 ? 0 : values.size() / width;
  std::vector<bool> is_whole;  // by four rows
  for (std::size_t row = 0; row + rows_at_once <= rows; row += rows_at_once) {
    bool all = true;
    for (std::size_t i = 0; i < rows_at_once; ++i) all = all && has_all_ranks(b.data() + (row + i) * ranks, ranks);
    is_whole.push_back(all);
  }
  // Rows of A may lie at addresses that the first-level cache cannot hold together.
  std::vector<float> panel(ranks * panel_columns);
  for (std::size_t first = 0; first < width; first += panel_columns) {
    const std::size_t count = std::min(panel_columns, width - first);
    for (std::size_t k = 0; k < ranks; ++k) {
      std::memcpy(panel.data() + k * panel_columns, a.data() + k * width + first, count * sizeof(float));
    }
    run_with(
        instructions, [&](auto vector) __attribute__((always_inline)) {
          constexpr std::size_t bytes = decltype(vector)::value;
          constexpr std::size_t square = 2 * bytes / sizeof(float);
          for (std::size_t row = 0; row < rows;) {
            const bool in_squares = row / rows_at_once < is_whole.size() && is_whole[row / rows_at_once];
            const std::size_t some = in_squares ? rows_at_once : 1;
            const float* const factors = b.data() + row * ranks;
            float* const to = values.data() + row * width + first;
            std::size_t j = 0;
            for (; in_squares && j + square <= count; j += square) {
              add_square<bytes>(panel.data() + j, factors, ranks, to + j, width);
            }
            for (std::size_t i = 0; j < count && i < some; ++i) {
              add_row(panel.data() + j, factors + i * ranks, ranks, panel_columns, count - j, to + i * width + j);
            }
            row += some;
          }
        });
  }
}

}  // namespace modelutils::adapter
