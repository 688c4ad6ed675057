#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tensor/dequantize.h"
#include "transfer/carriers.h"
#include "transfer/value_sums.h"

namespace modelutils {
namespace {

std::vector<std::byte> scale_bytes(std::initializer_list<float> scales) {
  std::vector<std::byte> bytes(scales.size() * sizeof(float));
  std::memcpy(bytes.data(), scales.begin(), bytes.size());
  return bytes;
}

constexpr u64 fp8_columns = 64;

Result<Target> choose(std::initializer_list<float> scales, const RepackOptions& options = {}, u64 width = fp8_columns,
                      bool must_be_f32 = false) {
  const StoredForm form = fp8_form(TensorType::F32);
  const std::vector<std::byte> bytes = scale_bytes(scales);
  ScaleAnalysis analysis;
  carrier_of(form).analyse(form, width, {Bytes(), bytes}, analysis);
  return carrier_of(form).choose(form, width, analysis, options, must_be_f32);
}

TEST(Fp8Carrier, PowersOfTwoAreExactInBf16) {
  for (const float scale : {1.0f, 0.25f, -2.0f, 0x1p-117f, 0x1p119f, 0.0f}) {
    const auto target = choose({scale});
    ASSERT_TRUE(target);
    EXPECT_EQ(target->type, TensorType::BF16) << scale;
    EXPECT_TRUE(target->exact) << scale;
  }
}

TEST(Fp8Carrier, OtherScalesTakeTheFallback) {
  for (const float scale : {0.3f, 3.0f, 0x1p-130f}) {
    const auto target = choose({1.0f, scale});
    ASSERT_TRUE(target);
    EXPECT_EQ(target->type, TensorType::Q8_0) << scale;
    EXPECT_FALSE(target->exact) << scale;
  }
  EXPECT_EQ(choose({0.3f}, {}, 40)->type, TensorType::F16) << "rows of 40";
  EXPECT_EQ(choose({300.0f}, {}, 40)->type, TensorType::F32) << "448 times 300 is beyond F16";
  EXPECT_EQ(choose({0.3f}, {TensorType::BF16})->type, TensorType::BF16);
  EXPECT_EQ(choose({0.3f}, {}, fp8_columns, true)->type, TensorType::F32);
}

TEST(Fp8Carrier, ExactMeansF32) {
  EXPECT_EQ(choose({0.3f}, {TensorType::Q8_0, true}).error().code, "convert-inexact");
  const auto target = choose({0.3f}, {TensorType::F32, true});
  ASSERT_TRUE(target);
  EXPECT_EQ(target->type, TensorType::F32);
  EXPECT_TRUE(target->exact);
}

TEST(Fp8Carrier, RefusesWhatOverflows) {
  EXPECT_EQ(choose({0x1p120f}).error().code, "convert-scale");
  EXPECT_EQ(choose({std::nanf("")}).error().code, "convert-scale");
}

// If the runtime multiplies by a ".scale" tensor, only the elements are stored.
TEST(Fp8Carrier, OneScaleMayBeATensor) {
  RepackOptions options;
  options.may_scale = true;
  const auto target = choose({0.3f}, options);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->type, TensorType::BF16);
  EXPECT_TRUE(target->exact && target->has_scale);
  const std::vector<std::byte> codes = {std::byte{0x38}, std::byte{0xC4}};  // 1, -3
  std::vector<std::byte> out(4);
  carry_rows(fp8_form(TensorType::F32), 2, *target, {codes, scale_bytes({0.3f})}, out, nullptr);
  std::vector<float> values(2);
  dequantize(TensorType::BF16, out, values);
  EXPECT_EQ(values, (std::vector<float>{1, -3}));
  options.compat = true;
  EXPECT_EQ(choose({0.3f}, options)->type, TensorType::Q8_0);
}

// All 256 codes, as BF16 and as F32.
TEST(Fp8Carrier, CarriesEveryCode) {
  const StoredForm form = fp8_form(TensorType::F32);
  std::vector<std::byte> codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
  const std::vector<std::byte> scales = scale_bytes({0.5f, 0.5f, 0.5f, 0.5f});  // for four rows
  for (const TensorType type : {TensorType::BF16, TensorType::F32}) {
    std::vector<std::byte> out(256 * type_info(type).block_bytes);
    ValueSums error;
    carry_rows(form, fp8_columns, {type, Carry::encode, true, {}, false}, {codes, scales}, out, &error);
    EXPECT_EQ(error.dd, 0);
    std::vector<float> values(256);
    dequantize(type, out, values);
    for (u32 i = 0; i < 256; ++i) {
      const int exponent = static_cast<int>(i >> 3 & 15);
      const double magnitude = exponent == 0 ? std::ldexp(i & 7, -9) : std::ldexp(8 + (i & 7), exponent - 10);
      if ((i & 127) == 127) {
        EXPECT_TRUE(std::isnan(values[i]));
      } else {
        EXPECT_EQ(values[i], (i < 128 ? magnitude : -magnitude) / 2) << i;
      }
    }
  }
}

}  // namespace
}  // namespace modelutils
