#include <gtest/gtest.h>

#include <cstring>

#include "tensor/dequantize.h"
#include "transfer/carriers.h"

namespace modelutils {
namespace {

// One row of 32 codes with one F32 scale and zero point.
class IntegerCarrier : public ::testing::Test {
 protected:
  IntegerCarrier() {
    params_.has_zeros = true;
    for (u64 i = 0; i < 32; ++i) codes_.push_back(static_cast<std::byte>(i % 16));
    set_scale(0.25f);
  }
  void set_scale(float scale) { std::memcpy(scale_.data(), &scale, sizeof scale); }
  StoredPlanes planes() const { return {Bytes(codes_), Bytes(scale_), Bytes(zero_)}; }
  StoredForm form() const { return integer_form(params_, TensorType::F32); }

  Result<Target> choose(const RepackOptions& options = {}) {
    ScaleAnalysis analysis;
    carrier_of(form()).analyse(form(), 32, planes(), analysis);
    return carrier_of(form()).choose(form(), 32, analysis, options, false);
  }
  // Chooses a target for these codes and converts: returns the values decoded by the target type.
  std::vector<float> carried(TensorType expected) {
    const Result<Target> target = choose();
    EXPECT_TRUE(target);
    EXPECT_EQ(target->type, expected);
    EXPECT_TRUE(target->exact);
    std::vector<std::byte> out(type_info(target->type).block_bytes * 32 / type_info(target->type).block_elements);
    carry_rows(form(), 32, *target, planes(), out, nullptr);
    std::vector<float> values(32);
    dequantize(target->type, out, values);
    return values;
  }
  void expect_values(TensorType type, int zero, float scale = 0.25f) {
    const std::vector<float> values = carried(type);
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], scale * static_cast<float>(static_cast<int>(codes_[i]) - zero)) << i;
    }
  }

  IntegerParams params_;
  std::vector<std::byte> codes_;
  std::vector<std::byte> scale_ = std::vector<std::byte>(4);
  std::vector<std::byte> zero_ = {std::byte{8}};
};

TEST_F(IntegerCarrier, TheNarrowestTypeThatHoldsTheIntegers) {
  expect_values(TensorType::Q4_0, 8);  // -8 … 7
  zero_[0] = std::byte{7};
  expect_values(TensorType::Q4_0, 7);  // -7 … 8, with the scale negated
  zero_[0] = std::byte{3};
  expect_values(TensorType::Q5_0, 3);
  params_.zeros_plus_one = true;
  expect_values(TensorType::Q5_0, 4);
  params_.zeros_plus_one = false;
  params_.bits = 8;
  codes_[0] = std::byte{120};
  expect_values(TensorType::Q8_0, 3);
}

TEST_F(IntegerCarrier, ScalesThatF16RoundsTakeAnotherWay) {
  set_scale(0x1.001p0f);  // exact neither in f16 nor in bf16
  EXPECT_EQ(choose()->type, TensorType::Q8_0);
  EXPECT_FALSE(choose()->exact);
  EXPECT_EQ(choose({TensorType::Q8_0, true}).error().code, "convert-inexact");
  EXPECT_TRUE(choose({TensorType::F32, true})->exact);
  set_scale(0x1p-30f);  // too small for f16, a power of two in bf16
  EXPECT_EQ(choose()->type, TensorType::BF16);
  set_scale(70000.0f);
  EXPECT_EQ(choose()->type, TensorType::F32);
}

TEST_F(IntegerCarrier, RefusesWhatIsNoNumber) {
  set_scale(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(choose().error().code, "convert-scale");
  set_scale(1);
  params_.zeros_plus_one = true;
  zero_[0] = std::byte{15};
  EXPECT_EQ(choose().error().code, "convert-zero-point");
}

TEST_F(IntegerCarrier, SignedCodesNeedNoZeroPoint) {
  params_.has_zeros = false;
  params_.is_signed = true;
  params_.bits = 8;
  codes_[5] = std::byte{0x80};
  const std::vector<float> values = carried(TensorType::Q8_0);
  EXPECT_EQ(values[5], -32.0f);
  EXPECT_EQ(values[6], 1.5f);
}

}  // namespace
}  // namespace modelutils
