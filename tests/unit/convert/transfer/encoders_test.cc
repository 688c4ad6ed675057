#include "convert/transfer/encoders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/dequantize.h"
#include "unit/convert/transfer/mlx_matrix.h"

namespace modelutils {
namespace {

using test::Buffer;
using test::MlxMatrix;

MlxMatrix matrix_of(u32 bits, u32 group, TensorType type, u64 rows = 1) {
  return MlxMatrix({{mlx::Mode::affine, bits, group}, type, type, group}, rows);
}

std::vector<float> carry(const MlxMatrix& matrix) {
  const std::vector<float> exact = matrix.values();
  Buffer out(exact.size() / 32 * 34);
  encode_q8_0_best(matrix.form, matrix.codes, matrix.scales, matrix.biases, exact, out);
  std::vector<float> values(exact.size());
  dequantize(TensorType::Q8_0, out, values);
  return values;
}

double squared_error(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

TEST(Q80Best, IntegerFormIsExactWhereTheBiasIsAMultipleOfTheScale) {
  std::mt19937 random(1);
  for (const TensorType type : {TensorType::F16, TensorType::BF16}) {
    MlxMatrix matrix = matrix_of(6, 64, type, 100);
    matrix.randomize_codes(random);
    for (u64 g = 0; g < matrix.groups(); ++g) {
      const float scale = std::ldexp(static_cast<float>(1 + random() % 3), -9) * (g % 2 != 0 ? -1.0f : 1.0f);
      matrix.set_group(g, scale, scale * static_cast<float>(static_cast<int>(random() % 16) - 40));
    }
    EXPECT_EQ(squared_error(carry(matrix), matrix.values()), 0);
  }
}

TEST(Q80Best, ConstantGroupsAreCarriedByTheirValue) {
  // MLX writes a constant group as a tiny scale, the value as bias, and codes that are all 0.
  for (const float value : {0.0f, 0.5f, -3.140625f, 65280.0f, 0x1p-24f}) {
    MlxMatrix matrix = matrix_of(8, 32, TensorType::F16);
    matrix.set_group(0, -1e-7f, value);
    for (float carried : carry(matrix)) EXPECT_EQ(carried, value);
  }
}

TEST(Q80Best, NeverWorseThanPlainQ80) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 0.02f);
  for (const u32 bits : {6u, 8u}) {
    MlxMatrix matrix = matrix_of(bits, 64, TensorType::BF16, 200);
    matrix.randomize_codes(random);
    for (u64 g = 0; g < matrix.groups(); ++g) {
      const float bias = normal(random);
      matrix.set_group(g, -2 * bias / static_cast<float>((1u << bits) - 1), bias);
    }
    const std::vector<float> exact = matrix.values();
    const std::vector<float> got = carry(matrix);
    for (std::size_t b = 0; b < exact.size(); b += 32) {
      const std::span<const float> block = std::span(exact).subspan(b, 32);
      float largest = 0;
      for (float value : block) largest = std::max(largest, std::abs(value));
      const float d = f16_to_f32(f32_to_f16(largest / 127));
      std::vector<float> plain;
      for (float value : block) plain.push_back(d * std::clamp(std::round(value / d), -127.0f, 127.0f));
      EXPECT_LE(squared_error(std::span(got).subspan(b, 32), block), squared_error(plain, block) * 1.0001);
    }
  }
}

TEST(Q80Best, ValuesBelowTheSmallestScaleAndBeyondTheLargest) {
  MlxMatrix matrix = matrix_of(8, 32, TensorType::F32);
  for (u64 i = 0; i < 32; ++i) matrix.set_code(i, static_cast<u32>(i));
  matrix.set_group(0, 1e-8f, 0);  // the precision of the smallest f16 is kept
  const std::vector<float> exact = matrix.values();
  const std::vector<float> small = carry(matrix);
  for (u64 i = 0; i < 32; ++i) EXPECT_NEAR(small[i], exact[i], 0x1p-25);
  EXPECT_GT(small[31], 0);
  // For infinite values, the function must only return.
  matrix.set_group(0, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(carry(matrix).size(), 32u);
  matrix.set_group(0, 1e38f, -1e38f);
  EXPECT_EQ(carry(matrix).size(), 32u);
}

}  // namespace
}  // namespace modelutils
