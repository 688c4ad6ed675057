#include "convert/transfer/integer_carrier.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "convert/transfer/carriers.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

using Bytes32 = std::array<u8, 32>;

u32 mlx_code(const Bytes32& in, u32 element) {
  return in[element / 2] >> (element % 2 * 4) & 15u;
}

// ggml's order: in each run of `size` codes, byte k has codes k and k + size / 2.
Bytes32 regrouped(const Bytes32& in, u32 size) {
  Bytes32 out;
  for (u32 k = 0; k < 32; ++k) {
    const u32 element = k / (size / 2) * size + k % (size / 2);
    out[k] = static_cast<u8>(mlx_code(in, element) | mlx_code(in, element + size / 2) << 4);
  }
  return out;
}

TEST(Nibbles, AllKernelsFollowTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    Bytes32 in;
    for (u8& byte : in) byte = static_cast<u8>(random());
    const Bytes32 blocks = regrouped(in, 32);
    Bytes32 got{};
    regroup_block(in.data(), got.data());
    regroup_block(in.data() + 16, got.data() + 16);
    EXPECT_EQ(got, blocks);
    got = {};
    regroup_two_blocks(in.data(), got.data(), got.data() + 16);
    EXPECT_EQ(got, blocks);
    got = {};
    regroup_nibbles_portable(load<u64>(in.data()), load<u64>(in.data() + 8), got.data());
    regroup_nibbles_portable(load<u64>(in.data() + 16), load<u64>(in.data() + 24), got.data() + 16);
    EXPECT_EQ(got, blocks);
    got = {};
    regroup_four_parts(in.data(), got.data());
    EXPECT_EQ(got, regrouped(in, 16));
  }
}

TEST(Nibbles, FifthBitsStandInTheOrderOfTheCodes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    BlockCodes codes;
    for (u64& eight : codes) eight = random();
    u32 wanted = 0;
    for (u32 i = 0; i < 32; ++i) wanted |= static_cast<u32>(codes[i / 8] >> (i % 8 * 8 + 4) & 1u) << i;
    std::array<u8, 4> got{};
    store_fifth_bits(codes, got.data());
    EXPECT_EQ(load<u32>(got.data()), wanted);
    got = {};
    store_fifth_bits_portable(codes, got.data());
    EXPECT_EQ(load<u32>(got.data()), wanted);
  }
}

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
