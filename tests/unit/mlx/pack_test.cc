#include "mlx/pack.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tensor/half.h"

namespace modelutils::mlx {
namespace {

// A matrix of 4-bit affine codes whose bytes are distinguishable.
struct Sample {
  std::vector<std::byte> weight, scales, biases;
  StoredMatrix matrix;

  Sample(u64 rows, u64 columns, int seed, TensorType type = TensorType::F16, Params params = {Mode::affine, 4, 32}) {
    const u64 groups = rows * columns / params.group_size;
    const u64 width = type_info(type).block_bytes;
    const auto fill = [&](std::vector<std::byte>& bytes, u64 size, int from) {
      for (u64 i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(from + static_cast<int>(i)));
    };
    fill(weight, groups * params.group_bytes(), seed);
    fill(scales, groups * width, seed + 100);
    if (params.mode == Mode::affine) fill(biases, groups * width, seed + 200);
    matrix = {params, rows, columns, weight, type, scales, biases};
  }
};

std::vector<std::byte> joined(std::initializer_list<const std::vector<std::byte>*> parts) {
  std::vector<std::byte> all;
  for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

TEST(Pack, PutsWeightsThenScalesThenBiases) {
  const Sample a(3, 64, 1);
  const auto packed = pack(a.matrix);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->layout.weight_bytes, 96u);
  EXPECT_EQ(packed->layout.scales_offset(), 96u);
  EXPECT_EQ(packed->layout.biases_offset(), 108u);
  EXPECT_EQ(packed->layout.total_bytes(), 120u);
  EXPECT_EQ(packed->bytes, joined({&a.weight, &a.scales, &a.biases}));
}

TEST(Pack, FusesRowWise) {
  const Sample q(4, 32, 1);
  const Sample k(2, 32, 50);
  const Sample v(2, 32, 90);
  const StoredMatrix modules[] = {q.matrix, k.matrix, v.matrix};
  const auto fused = fuse(modules);
  ASSERT_TRUE(fused);
  EXPECT_EQ(fused->bytes, joined({&q.weight, &k.weight, &v.weight, &q.scales, &k.scales, &v.scales, &q.biases,
                                  &k.biases, &v.biases}));
  // The fused matrix has 8 rows.
  EXPECT_EQ(fused->layout.weight_bytes, 8u * 16u);
}

TEST(Pack, FpModesHaveNoBiases) {
  const Sample a(2, 32, 3, TensorType::U8, {Mode::mxfp4, 4, 32});
  const auto packed = pack(a.matrix, {.bf16_to_f16 = true});
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->layout.biases_bytes, 0u);
  EXPECT_EQ(packed->bytes, joined({&a.weight, &a.scales}));
}

TEST(Pack, RefusesMoreBytesThanCanBeCounted) {
  constexpr u64 rows = u64{1} << 58;
  const MatrixSizes huge{{Mode::affine, 4, 32}, rows, 32, TensorType::F16, rows * 16, rows * 2, rows * 2};
  ASSERT_TRUE(check_matrix(huge));
  const std::vector<MatrixSizes> modules(4, huge);
  EXPECT_TRUE(fused_layout(std::span(modules).first(3)));
  EXPECT_EQ(fused_layout(std::span(modules)).error().code, "mlx-pack-size");
}

TEST(Pack, ConvertsBf16ToF16AndCountsWhatIsInexact) {
  Sample a(1, 64, 1, TensorType::BF16);
  const u16 scales[] = {f32_to_bf16(-0.0078125f), f32_to_bf16(1e30f)};  // exact; too big
  const u16 biases[] = {f32_to_bf16(1e-9f), 0x7FC0};                    // too small; NaN stays NaN
  std::memcpy(a.scales.data(), scales, 4);
  std::memcpy(a.biases.data(), biases, 4);
  const auto packed = pack(a.matrix, {.bf16_to_f16 = true});
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->layout.scale_type, TensorType::F16);
  EXPECT_EQ(packed->inexact, 2u);
  u16 halves[4];
  std::memcpy(halves, packed->bytes.data() + packed->layout.scales_offset(), 8);
  EXPECT_EQ(f16_to_f32(halves[0]), -0.0078125f);
  EXPECT_EQ(halves[1], 0x7C00);
  EXPECT_EQ(halves[2], 0);
  EXPECT_TRUE(f16_to_f32(halves[3]) != f16_to_f32(halves[3]));
  const auto kept = pack(a.matrix);
  EXPECT_EQ(kept->layout.scale_type, TensorType::BF16);
  EXPECT_EQ(kept->inexact, 0u);
}

TEST(Pack, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(fuse({}).error().code, "mlx-pack-empty");
  const Sample a(2, 64, 1);
  for (const Sample& other :
       {Sample(2, 32, 1), Sample(2, 64, 1, TensorType::BF16), Sample(2, 64, 1, TensorType::F16, {Mode::affine, 4, 64}),
        Sample(2, 64, 1, TensorType::F16, {Mode::affine, 8, 32})}) {
    const StoredMatrix modules[] = {a.matrix, other.matrix};
    EXPECT_EQ(fuse(modules).error().code, "mlx-pack-mismatch");
  }
}

TEST(Pack, RefusesSizesThatDisagree) {
  const Sample a(2, 64, 1);
  const auto refused = [](StoredMatrix matrix) {
    const auto packed = pack(matrix);
    return !packed && packed.error().code == "mlx-pack-size";
  };
  StoredMatrix m = a.matrix;
  m.rows = 3;
  EXPECT_TRUE(refused(m));
  m.rows = u64{1} << 63;
  EXPECT_TRUE(refused(m));
  m = a.matrix;
  m.columns = 65;
  EXPECT_TRUE(refused(m));
  m = a.matrix;
  m.biases = {};
  EXPECT_TRUE(refused(m));
  m = a.matrix;
  m.scale_type = TensorType::U8;
  EXPECT_TRUE(refused(m));
  m = a.matrix;
  m.params.bits = 7;
  EXPECT_TRUE(refused(m));
  m = a.matrix;
  std::vector<std::byte> small(10);
  EXPECT_EQ(fuse_into({&m, 1}, {}, small).error().code, "mlx-pack-size");
}

}  // namespace
}  // namespace modelutils::mlx
