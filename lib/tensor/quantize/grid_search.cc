#include "tensor/quantize/grid_search.h"

#include <algorithm>
#include <array>

#include "tensor/codebooks.h"

namespace modelutils::encode {

namespace {

u32 level_of_pair(int magnitude) {  // IQ2: 8, 25, 43
  return magnitude < 16 ? 0 : magnitude < 34 ? 1 : 2;
}
u32 level_of_iq3_xxs(int magnitude) {  // 4, 12 … 52, 62
  return static_cast<u32>(magnitude / 8);
}
u32 level_of_iq3_s(int magnitude) {  // 1, 3 … 15
  return static_cast<u32>(magnitude / 2);
}
u32 level_of_sign(int value) {  // IQ1: -1, 0, 1
  return static_cast<u32>(value + 1);
}

template <std::size_t SIZE, std::size_t COUNT>
std::vector<u16> patterns_of(const std::array<std::array<i8, SIZE>, COUNT>& grid, u32 (*level)(int)) {
  constexpr u32 bits = 16 / SIZE > 2 ? 3 : 2;
  std::vector<u16> patterns(COUNT);
  for (std::size_t i = 0; i < COUNT; ++i) {
    for (u32 k = 0; k < SIZE; ++k) patterns[i] = static_cast<u16>(patterns[i] | level(grid[i][k]) << (bits * k));
  }
  return patterns;
}

// Squared distance of two patterns, in squared level differences. Only the order of distances matters.
u32 distance_of(u32 a, u32 b, u32 size, u32 bits) {
  const u32 mask = (1u << bits) - 1;
  u32 sum = 0;
  for (u32 k = 0; k < size; ++k) {
    const int diff = static_cast<int>(a >> (bits * k) & mask) - static_cast<int>(b >> (bits * k) & mask);
    sum += static_cast<u32>(diff * diff);
  }
  return sum;
}

}  // namespace

Grid::Grid(std::span<const u16> points, u32 size, u32 bits, u32 levels, u32 distances) {
  entries_.assign(std::size_t{1} << (size * bits), 0);
  std::vector<bool> on_grid(entries_.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    entries_[points[i]] = static_cast<i32>(i);
    on_grid[points[i]] = true;
  }
  const u32 mask = (1u << bits) - 1;
  for (u32 pattern = 0; pattern < entries_.size(); ++pattern) {
    if (on_grid[pattern]) continue;
    bool possible = true;
    for (u32 k = 0; k < size; ++k) possible = possible && (pattern >> (bits * k) & mask) < levels;
    if (!possible) continue;
    entries_[pattern] = -1 - static_cast<i32>(lists_.size());
    add_neighbours(points, pattern, size, bits, distances);
  }
}

void Grid::add_neighbours(std::span<const u16> points, u32 pattern, u32 size, u32 bits, u32 distances) {
  constexpr u32 farthest = 4 * 49;
  std::array<u16, 2048> distance;
  std::array<bool, farthest + 1> occurs{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    distance[i] = static_cast<u16>(distance_of(points[i], pattern, size, bits));
    occurs[distance[i]] = true;
  }
  const u32 first = static_cast<u32>(neighbours_.size());
  for (u32 d = 0, found = 0; d <= farthest && found < distances; ++d) {
    if (!occurs[d]) continue;
    ++found;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (distance[i] == d) neighbours_.push_back(points[i]);
    }
  }
  while ((neighbours_.size() - first) % 8 != 0) neighbours_.push_back(u16{neighbours_.back()});
  lists_.push_back({first, static_cast<u32>(neighbours_.size()) - first});
}

const Grid& Grid::of(TensorType type) {
  switch (type) {
    case TensorType::IQ2_XXS: {
      static const Grid grid(patterns_of(iq2xxs_grid, level_of_pair), 8, 2, 3, 2);
      return grid;
    }
    case TensorType::IQ2_XS: {
      static const Grid grid(patterns_of(iq2xs_grid, level_of_pair), 8, 2, 3, 2);
      return grid;
    }
    case TensorType::IQ2_S: {
      static const Grid grid(patterns_of(iq2s_grid, level_of_pair), 8, 2, 3, 1);
      return grid;
    }
    case TensorType::IQ3_XXS: {
      static const Grid grid(patterns_of(iq3xxs_grid, level_of_iq3_xxs), 4, 3, 8, 2);
      return grid;
    }
    case TensorType::IQ3_S: {
      static const Grid grid(patterns_of(iq3s_grid, level_of_iq3_s), 4, 3, 8, 3);
      return grid;
    }
    default: {
      static const Grid grid(patterns_of(iq1s_grid, level_of_sign), 8, 2, 3, 3);
      return grid;
    }
  }
}

}  // namespace modelutils::encode
