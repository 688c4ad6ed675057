#include "convert/merge/add_product.h"

#include <algorithm>
#include <vector>

namespace modelutils::adapter {

namespace {

constexpr std::size_t rows_at_once = 4;   // rows that share the loaded values of A
constexpr std::size_t ranks_at_once = 4;  // ranks skipped together if they are zero

// A range of columns and ranks of A.
struct Columns {
  const float* values;
  std::size_t stride;  // distance between ranks
  std::size_t ranks;
  std::size_t count;
};

// Adds a block of ROWS rows and VECTORS vectors of columns. The sums stay in registers over all ranks. The loops handle
// one vector each, because g++ 12 spills longer ones to memory.
template <std::size_t WIDTH, std::size_t ROWS, std::size_t VECTORS>
[[gnu::always_inline]] inline void add_square(const Columns& a, const float* b, std::size_t stride, float* out,
                                              std::size_t row_stride) {
  constexpr std::size_t lanes = WIDTH / sizeof(float);
  float sums[ROWS][VECTORS][lanes];
#pragma GCC unroll 4
  for (std::size_t row = 0; row < ROWS; ++row) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < VECTORS; ++v) {
      for (std::size_t j = 0; j < lanes; ++j) sums[row][v][j] = out[row * row_stride + v * lanes + j];
    }
  }
  const float* values = a.values;
  for (std::size_t k = 0; k < a.ranks; ++k, values += a.stride) {
#pragma GCC unroll 4
    for (std::size_t row = 0; row < ROWS; ++row) {
      const float factor = b[row * stride + k];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < VECTORS; ++v) {
        float* const sum = sums[row][v];
        for (std::size_t j = 0; j < lanes; ++j) sum[j] = fused<WIDTH>(values[v * lanes + j], factor, sum[j]);
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t row = 0; row < ROWS; ++row) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < VECTORS; ++v) {
      for (std::size_t j = 0; j < lanes; ++j) out[row * row_stride + v * lanes + j] = sums[row][v][j];
    }
  }
}

// Processes as many columns as blocks of VECTORS vectors fill.
template <std::size_t WIDTH, std::size_t ROWS, std::size_t VECTORS>
[[gnu::always_inline]] inline void add_squares(Columns& a, const float* b, std::size_t stride, float*& out,
                                               std::size_t row_stride) {
  constexpr std::size_t columns = VECTORS * WIDTH / sizeof(float);
  for (; a.count >= columns; a.count -= columns, a.values += columns, out += columns) {
    add_square<WIDTH, ROWS, VECTORS>(a, b, stride, out, row_stride);
  }
}

template <std::size_t WIDTH, std::size_t ROWS>
[[gnu::always_inline]] inline void add_rows(Columns a, const float* b, std::size_t stride, float* out,
                                            std::size_t row_stride) {
  add_squares<WIDTH, ROWS, 2>(a, b, stride, out, row_stride);
  add_squares<WIDTH, ROWS, 1>(a, b, stride, out, row_stride);
  for (std::size_t row = 0; row < ROWS; ++row) {
    for (std::size_t j = 0; j < a.count; ++j) {
      float& sum = out[row * row_stride + j];
      for (std::size_t k = 0; k < a.ranks; ++k) {
        sum = fused<WIDTH>(a.values[k * a.stride + j], b[row * stride + k], sum);
      }
    }
  }
}

// True if these ranks of a row are all zero, as when a smaller rank is padded.
bool are_zeros(const float* b, std::size_t ranks) {
  return std::all_of(b, b + ranks, [](float factor) { return factor == 0; });
}

bool has_all_ranks(const float* b, std::size_t ranks) {
  for (std::size_t k = 0; k < ranks; k += ranks_at_once) {
    if (are_zeros(b + k, std::min(ranks_at_once, ranks - k))) return false;
  }
  return true;
}

}  // namespace

Panels::Panels(std::span<const float> a, u64 rank, u64 columns)
    : rank_(static_cast<std::size_t>(rank)), columns_(static_cast<std::size_t>(columns)) {
  values_.reserve(rank_ * columns_);
  for (std::size_t first = 0; first < columns_; first += Panels::width) {
    const std::size_t count = std::min(Panels::width, columns_ - first);
    for (std::size_t k = 0; k < rank_; ++k) {
      const float* const from = a.data() + k * columns_ + first;
      values_.insert(values_.end(), from, from + count);
    }
  }
}

void add_product(const Panels& a, std::span<const float> b, std::span<float> values, WideInstructions instructions) {
  const std::size_t width = a.columns();
  const std::size_t ranks = a.rank();
  const std::size_t rows = width == 0 ? 0 : values.size() / width;
  std::vector<bool> is_whole;  // per four rows
  for (std::size_t row = 0; row + rows_at_once <= rows; row += rows_at_once) {
    bool all = true;
    for (std::size_t i = 0; i < rows_at_once; ++i) all = all && has_all_ranks(b.data() + (row + i) * ranks, ranks);
    is_whole.push_back(all);
  }
  for (std::size_t first = 0; first < width; first += Panels::width) {
    const std::size_t count = std::min(Panels::width, width - first);
    const Columns panel = {a.panel(first), count, ranks, count};
    run_with(
        instructions, [&](auto vector) __attribute__((always_inline)) {
          constexpr std::size_t bytes = decltype(vector)::value;
          for (std::size_t row = 0; row < rows;) {
            const float* const factors = b.data() + row * ranks;
            float* const to = values.data() + row * width + first;
            if (row / rows_at_once < is_whole.size() && is_whole[row / rows_at_once]) {
              add_rows<bytes, rows_at_once>(panel, factors, ranks, to, width);
              row += rows_at_once;
              continue;
            }
            for (std::size_t k = 0; k < ranks; k += ranks_at_once) {
              const std::size_t some = std::min(ranks_at_once, ranks - k);
              if (are_zeros(factors + k, some)) continue;
              add_rows<bytes, 1>({panel.values + k * count, count, some, count}, factors + k, ranks, to, width);
            }
            ++row;
          }
        });
  }
}

}  // namespace modelutils::adapter
