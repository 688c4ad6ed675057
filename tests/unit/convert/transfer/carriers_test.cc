#include "convert/transfer/carriers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "io/random_access_file.h"
#include "tensor/dequantize.h"
#include "tensor/value_sums.h"

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

void append(std::vector<std::byte>& file, const void* from, std::size_t bytes) {
  file.insert(file.end(), static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
}

// Codes across the rows, as in AWQ: two words of eight rows per column. Zero points are 8 and scales 1 unless given.
class CodesAcross : public ::testing::Test {
 protected:
  static constexpr u64 rows = 16, columns = 96, group = 32, groups = columns / group;

  CodesAcross() {
    params_.has_zeros = true;
    params_.group = group;
    params_.codes = {Gather::Kind::codes_of_columns, 4, 0, false, 8, columns};
    params_.zeros = {Gather::Kind::codes_of_columns, 4, 0, false, 8, groups};
    params_.scales = {Gather::Kind::values_of_columns, 16, 0, false, 2 * rows, groups};
  }

  static void set(std::vector<u32>& words, u64 row, u64 column, u32 code) {
    u32& word = words[2 * column + row / 8];
    const u64 at = row % 8 * 4;
    word = (word & ~(15u << at)) | code << at;
  }

  ScaleAnalysis analyse(ScaleAnalysis analysis = {}) {
    std::vector<std::byte> bytes;
    append(bytes, codes_.data(), codes_.size() * 4);
    append(bytes, zeros_.data(), zeros_.size() * 4);
    append(bytes, scales_.data(), scales_.size() * 2);
    const MemoryFile file(std::move(bytes));
    const StoredForm form = integer_form(params_, TensorType::F16);
    AnalysedRows of;
    u64 offset = 0;
    for (const std::size_t plane : {0u, 1u, 2u}) of.layouts[plane] = form_info(form).plane(form, plane, columns);
    of.planes[0] = {&file, offset};
    offset += codes_.size() * 4;
    of.planes[2] = {&file, offset};
    offset += zeros_.size() * 4;
    of.planes[1] = {&file, offset};
    EXPECT_TRUE(analyse_rows(form, columns, of, 0, rows, analysis));
    return analysis;
  }

  IntegerParams params_;
  std::vector<u32> codes_ = std::vector<u32>(2 * columns, 0x88888888);
  std::vector<u32> zeros_ = std::vector<u32>(2 * groups, 0x88888888);
  std::vector<u16> scales_ = std::vector<u16>(rows * groups, 0x3C00);
};

TEST_F(CodesAcross, EveryGroupOfEveryRowIsLookedAt) {
  EXPECT_EQ(analyse().least, 0);
  set(codes_, 11, 40, 15);  // group 1, zero point 3
  set(zeros_, 11, 1, 3);
  set(codes_, 5, 95, 1);  // group 2, zero point 12
  set(zeros_, 5, 2, 12);
  const ScaleAnalysis seen = analyse();
  EXPECT_EQ(seen.greatest, 12);
  EXPECT_EQ(seen.least, -11);
  EXPECT_EQ(seen.values, rows * groups);
  EXPECT_FALSE(seen.is_settled);
}

TEST_F(CodesAcross, WhatIsSettledIsNotReadOn) {
  ScaleAnalysis before;
  before.scales_fit = true;
  before.least_possible = -8;
  before.greatest_possible = 7;
  const ScaleAnalysis seen = analyse(before);
  EXPECT_TRUE(seen.is_settled);
  EXPECT_EQ(seen.values, rows) << "one group of each row";
}

TEST_F(CodesAcross, ScalesThatAreNoNumbersAreCounted) {
  scales_[2 * rows + 3] = 0x7E00;
  scales_[5] = 0xFC00;
  EXPECT_EQ(analyse().not_finite, 2u);
}

}  // namespace

}  // namespace modelutils
