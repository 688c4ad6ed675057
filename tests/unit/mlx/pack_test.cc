#include "mlx/pack.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tensor/half.h"

namespace modelutils::mlx {
namespace {

MatrixSizes matrix(u64 rows, u64 columns, TensorType scales = TensorType::F16, Params params = {Mode::affine, 4, 32}) {
  const u64 groups = rows * columns / params.group_size;
  const u64 scale_bytes = groups * type_info(scales).block_bytes;
  return {params,
          rows,
          columns,
          scales,
          groups * params.group_bytes(),
          scale_bytes,
          params.mode == Mode::affine ? scale_bytes : 0};
}

Result<PackedLayout> layout(const std::vector<MatrixSizes>& modules, bool bf16_to_f16 = false) {
  return fused_layout(modules, bf16_to_f16);
}

TEST(Pack, PutsWeightsThenScalesThenBiases) {
  const auto packed = layout({matrix(3, 64)});
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->weight_bytes, 96u);
  EXPECT_EQ(packed->scales_offset(), 96u);
  EXPECT_EQ(packed->biases_offset(), 108u);
  EXPECT_EQ(packed->total_bytes(), 120u);
}

TEST(Pack, FusesRowWise) {
  const auto fused = layout({matrix(4, 32), matrix(2, 32), matrix(2, 32)});
  ASSERT_TRUE(fused);
  // The fused matrix has 8 rows.
  EXPECT_EQ(fused->weight_bytes, 8u * 16u);
  EXPECT_EQ(fused->scales_bytes, 8u * 2u);
  EXPECT_EQ(fused->biases_bytes, 8u * 2u);
}

TEST(Pack, FpModesHaveNoBiases) {
  const auto packed = layout({matrix(2, 32, TensorType::U8, {Mode::mxfp4, 4, 32})}, true);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->biases_bytes, 0u);
  EXPECT_EQ(packed->scale_type, TensorType::U8);
  EXPECT_EQ(packed->total_bytes(), 34u);
}

TEST(Pack, RefusesMoreBytesThanCanBeCounted) {
  constexpr u64 rows = u64{1} << 58;
  const MatrixSizes huge{{Mode::affine, 4, 32}, rows, 32, TensorType::F16, rows * 16, rows * 2, rows * 2};
  ASSERT_TRUE(check_matrix(huge));
  const std::vector<MatrixSizes> modules(4, huge);
  EXPECT_TRUE(fused_layout(std::span(modules).first(3), false));
  EXPECT_EQ(fused_layout(modules, false).error().code, "mlx-pack-size");
}

TEST(Pack, ConvertsBf16ToF16AndCountsInexactValues) {
  EXPECT_EQ(layout({matrix(1, 64, TensorType::BF16)}, true)->scale_type, TensorType::F16);
  EXPECT_EQ(layout({matrix(1, 64, TensorType::BF16)})->scale_type, TensorType::BF16);
  // Exact; too big; too small; NaN stays NaN.
  u16 halves[] = {f32_to_bf16(-0.0078125f), f32_to_bf16(1e30f), f32_to_bf16(1e-9f), 0x7FC0};
  EXPECT_EQ(bf16_to_f16_in_place(std::as_writable_bytes(std::span(halves))), 2u);
  EXPECT_EQ(f16_to_f32(halves[0]), -0.0078125f);
  EXPECT_EQ(halves[1], 0x7C00);
  EXPECT_EQ(halves[2], 0);
  EXPECT_TRUE(f16_to_f32(halves[3]) != f16_to_f32(halves[3]));
}

TEST(Pack, RefusesModulesThatDoNotMatch) {
  EXPECT_EQ(layout({}).error().code, "mlx-pack-empty");
  for (const MatrixSizes& other :
       {matrix(2, 32), matrix(2, 64, TensorType::BF16), matrix(2, 64, TensorType::F16, {Mode::affine, 4, 64}),
        matrix(2, 64, TensorType::F16, {Mode::affine, 8, 32})}) {
    EXPECT_EQ(layout({matrix(2, 64), other}).error().code, "mlx-pack-mismatch");
  }
}

TEST(Pack, RefusesSizesThatDisagree) {
  const auto refused = [](auto change) {
    MatrixSizes sizes = matrix(2, 64);
    change(sizes);
    const auto packed = layout({sizes});
    return !packed && packed.error().code == "mlx-pack-size";
  };
  EXPECT_FALSE(refused([](MatrixSizes&) {}));
  EXPECT_TRUE(refused([](MatrixSizes& sizes) { sizes.rows = 3; }));
  EXPECT_TRUE(refused([](MatrixSizes& sizes) { sizes.rows = u64{1} << 63; }));
  EXPECT_TRUE(refused([](MatrixSizes& sizes) { sizes.columns = 65; }));
  EXPECT_TRUE(refused([](MatrixSizes& sizes) { sizes.biases_bytes = 0; }));
  EXPECT_TRUE(refused([](MatrixSizes& sizes) { sizes.scale_type = TensorType::U8; }));
  EXPECT_TRUE(refused([](MatrixSizes& sizes) { sizes.params.bits = 7; }));
}

}  // namespace
}  // namespace modelutils::mlx
