#include "memory/gpu_split.h"

#include <gtest/gtest.h>

#include <limits>

namespace modelutils::memory {
namespace {

std::vector<u64> layers_of(const std::vector<GpuShare>& shares) {
  std::vector<u64> layers;
  for (const GpuShare& share : shares) layers.push_back(share.layers);
  return layers;
}

using Layers = std::vector<u64>;

const std::vector<LayerBytes> four_of_ten = {{6, 4}, {6, 4}, {6, 4}, {6, 4}};

TEST(GpuSplit, FillsGpusEvenly) {
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{1000, 1000})), (Layers{2, 2}));
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{3000, 1000})), (Layers{3, 1}));
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{20, 20})), (Layers{2, 2}));
  EXPECT_EQ(layers_of(split_layers(four_of_ten, 0, 0, 0, Layers{10, 30})), (Layers{1, 3}));
}

TEST(GpuSplit, EachGpuHasBuffersAndCopiesOfItsOwn) {
  const auto shares = split_layers(four_of_ten, 0, 1, 5, Layers{26, 26});
  ASSERT_EQ(layers_of(shares), (Layers{2, 2}));
  EXPECT_EQ(shares[1].first_layer, 2u);
  EXPECT_EQ(shares[1].weights, 13u);
  EXPECT_EQ(shares[1].caches, 8u);
  EXPECT_EQ(shares[1].compute, 5u);
  EXPECT_EQ(shares[1].total(), 26u);
  EXPECT_TRUE(split_layers(four_of_ten, 0, 1, 5, Layers{26, 25}).empty());
}

TEST(GpuSplit, LeavesOutWhatHasNoRoom) {
  const auto shares = split_layers(four_of_ten, 0, 0, 5, Layers{0, 45, 7});
  ASSERT_EQ(layers_of(shares), (Layers{0, 4, 0}));
  EXPECT_EQ(shares[0].total(), 0u);
  // 40 bytes in total, but each has room for only one layer
  EXPECT_TRUE(split_layers(four_of_ten, 0, 0, 0, Layers{15, 15}).empty());
}

TEST(GpuSplit, TakesLayersFromTheFirstThatIsOnAnyGpu) {
  const auto shares = split_layers(four_of_ten, 2, 0, 0, Layers{100, 100});
  ASSERT_EQ(layers_of(shares), (Layers{1, 1}));
  EXPECT_EQ(shares[0].first_layer, 2u);
  EXPECT_EQ(shares[1].first_layer, 3u);
}

TEST(GpuSplit, LargeLayersStayWhole) {
  const std::vector<LayerBytes> layers = {{10, 0}, {10, 0}, {10, 0}, {40, 0}};
  EXPECT_EQ(layers_of(split_layers(layers, 0, 0, 0, Layers{50, 50})), (Layers{3, 1}));
  constexpr u64 most = std::numeric_limits<u64>::max();
  EXPECT_EQ(layers_of(split_layers(layers, 0, most, 0, Layers{most, most})), Layers{});
}

}  // namespace
}  // namespace modelutils::memory
