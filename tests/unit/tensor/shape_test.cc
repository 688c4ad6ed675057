#include "tensor/shape.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

using Dims = std::vector<u64>;

TEST(Shape, ElementCount) {
  EXPECT_EQ(element_count(Dims{}), 1u);
  EXPECT_EQ(element_count(Dims{3, 4, 5}), 60u);
  EXPECT_EQ(element_count(Dims{3, 0}), 0u);
  EXPECT_FALSE(element_count(Dims{u64{1} << 32, u64{1} << 32}));
  EXPECT_FALSE(element_count(Dims{u64{1} << 32, u64{1} << 32, 0})) << "an overflow counts even if a 0 follows";
}

TEST(Shape, TensorBytes) {
  EXPECT_EQ(tensor_bytes(TensorType::F32, Dims{}), 4u);
  EXPECT_EQ(tensor_bytes(TensorType::Q4_K, Dims{512, 3}), 864u);
  EXPECT_EQ(tensor_bytes(TensorType::Q4_K, Dims{0, 3}), 0u);
  EXPECT_FALSE(tensor_bytes(TensorType::Q4_K, Dims{}));
  EXPECT_FALSE(tensor_bytes(TensorType::Q4_K, Dims{128, 2})) << "a row holds whole blocks";
  EXPECT_FALSE(tensor_bytes(TensorType::F32, Dims{u64{1} << 32, u64{1} << 32}));
  EXPECT_FALSE(tensor_bytes(TensorType::I8, Dims{u64{1} << 62, 2}));
  EXPECT_FALSE(tensor_bytes(TensorType::Q1_0, Dims{u64{1} << 62, 4})) << "the bytes would fit, the elements do not";
  EXPECT_FALSE(tensor_bytes(TensorType::Q8_0, Dims{u64{1} << 60, 16})) << "bytes overflow first";
}

TEST(Shape, TrailingOnesAreNoDifference) {
  EXPECT_TRUE(is_same_shape(Dims{4, 3}, Dims{4, 3, 1, 1}));
  EXPECT_TRUE(is_same_shape(Dims{1}, Dims{}));
  EXPECT_FALSE(is_same_shape(Dims{4, 3}, Dims{4, 3, 2}));
  EXPECT_FALSE(is_same_shape(Dims{4, 0}, Dims{4}));
  EXPECT_FALSE(is_same_shape(Dims{4, 3}, Dims{3, 4}));
}

TEST(Shape, Text) {
  EXPECT_EQ(reversed(Dims{1, 2, 3}), (Dims{3, 2, 1}));
  EXPECT_EQ(shape_text(Dims{4096, 32000}), "4096 × 32000");
  EXPECT_EQ(shape_text(Dims{7}), "7");
  EXPECT_EQ(shape_text(Dims{}), "");
}

}  // namespace
}  // namespace modelutils
