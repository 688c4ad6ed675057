// Each row of the table in docs/formats/mlx.md on generated matrices, compared with values computed by slow reference
// code.
#include "convert/transfer/carriers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "tensor/value_sums.h"
#include "unit/convert/transfer/mlx_matrix.h"

namespace modelutils {
namespace {

using mlx::Mode;
using test::Buffer;
using test::MlxMatrix;
using enum TensorType;

MlxForm affine_form(u32 bits, u32 group, u64 columns, TensorType scales = F16) {
  return {{Mode::affine, bits, group}, scales, scales, columns};
}
MlxForm fp_form(Mode mode, u64 columns) {
  return {mlx::default_params(mode), U8, F16, columns};
}

ScaleAnalysis analyse(const MlxMatrix& matrix, bool with_codes = false) {
  ScaleAnalysis analysis;
  analyse_scales(matrix.form, matrix.scales, matrix.biases, with_codes ? Bytes(matrix.codes) : Bytes(), analysis);
  return analysis;
}

Target target_of(const MlxMatrix& matrix, const RepackOptions& options = {}, bool with_codes = false) {
  Result<Target> target = choose_target(matrix.form, analyse(matrix, with_codes), options, false);
  EXPECT_TRUE(target) << target.error().message;
  return target ? *target : Target{};
}

// A copy that starts at an odd address.
struct Moved {
  explicit Moved(const Buffer& bytes) : storage(bytes.size() + 1) {
    std::copy(bytes.begin(), bytes.end(), storage.begin() + 1);
  }
  Bytes view() const { return Bytes(storage).subspan(1); }
  Buffer storage;
};

std::vector<float> carry(const MlxMatrix& matrix, const Target& target, ValueSums* error = nullptr) {
  const Moved codes(matrix.codes);
  const Moved scales(matrix.scales);
  const Moved biases(matrix.biases);
  const std::size_t size = matrix.rows * *row_bytes(target.type, matrix.form.columns);
  Buffer out(size + 2, std::byte{0xA5});
  carry_rows(test::stored_form(matrix.form), matrix.form.columns, target, {codes.view(), scales.view(), biases.view()},
             MutableBytes(out).subspan(1, size), error);
  EXPECT_EQ(out.front(), std::byte{0xA5});
  EXPECT_EQ(out.back(), std::byte{0xA5});
  std::vector<float> values(matrix.elements());
  dequantize(target.type, Bytes(out).subspan(1, size), values);
  return values;
}

// Expects equal values; −0 equals +0.
void expect_exact(const MlxMatrix& matrix, const Target& target) {
  ValueSums error;
  const std::vector<float> got = carry(matrix, target, &error);
  const std::vector<float> want = matrix.values();
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i], want[i]) << type_name(target.type) << " element " << i << " code " << matrix.code(i);
  }
  EXPECT_EQ(error.max_abs, 0);
  EXPECT_EQ(error.dd, 0);
  EXPECT_EQ(error.rms(), 0);
  EXPECT_TRUE(std::ranges::equal(carry(matrix, target), got)) << "measuring changes nothing";
}

void expect_target(const Target& target, TensorType type, Carry carry, bool exact) {
  EXPECT_EQ(type_name(target.type), type_name(type));
  EXPECT_EQ(target.carry, carry);
  EXPECT_EQ(target.exact, exact);
}

TEST(ScaleUse, OfEveryForm) {
  const RepackOptions usual;
  const RepackOptions f16{.fallback = F16};
  const RepackOptions compat{.compat = true};
  EXPECT_EQ(scale_use(affine_form(4, 64, 128, F16), usual), ScaleUse::nothing) << "f16 holds its own scales";
  EXPECT_EQ(scale_use(affine_form(4, 64, 128, BF16), usual), ScaleUse::exactness);
  EXPECT_EQ(scale_use(affine_form(5, 32, 96, BF16), f16), ScaleUse::exactness);
  EXPECT_EQ(scale_use(affine_form(4, 64, 128, F32), usual), ScaleUse::size) << "Q4_1, or the fallback";
  EXPECT_EQ(scale_use(affine_form(6, 64, 128, BF16), usual), ScaleUse::nothing) << "always the fallback";
  EXPECT_EQ(scale_use(affine_form(8, 64, 128, BF16), usual), ScaleUse::exactness) << "Q8_0 either way";
  EXPECT_EQ(scale_use(affine_form(8, 64, 128, F16), f16), ScaleUse::size) << "Q8_0 if symmetric, else F16";
  EXPECT_EQ(scale_use(fp_form(Mode::mxfp4, 64), usual), ScaleUse::nothing);
  EXPECT_EQ(scale_use(fp_form(Mode::mxfp4, 64), compat), ScaleUse::size) << "Q5_0 or BF16";
  EXPECT_EQ(scale_use(fp_form(Mode::nvfp4, 64), usual), ScaleUse::size) << "NVFP4 or F16";
  EXPECT_EQ(scale_use(fp_form(Mode::nvfp4, 32), usual), ScaleUse::nothing);
  EXPECT_EQ(scale_use(fp_form(Mode::nvfp4, 64), compat), ScaleUse::nothing);
  EXPECT_EQ(scale_use(fp_form(Mode::mxfp8, 64), usual), ScaleUse::size) << "BF16 or F32";
}

// Scales and biases of all magnitudes that f16 and bf16 both hold, of both signs, with occasional groups of zeros.
void randomize_groups(MlxMatrix& matrix, std::mt19937& random) {
  for (u64 group = 0; group < matrix.groups(); ++group) {
    const auto number = [&] {
      const float mantissa = 1.0f + static_cast<float>(random() % 128) / 128.0f;
      const float value =
          std::ldexp(mantissa, static_cast<int>(random() % 28) - 16);  // 2^-16 and up, so f16 subnormals occur
      return random() % 2 != 0 ? -value : value;
    };
    float scale = number();
    // f16 subnormals hold multiples of 2^-24: drop the other bits.
    scale = f16_to_f32(f32_to_f16(scale));
    scale = bf16_to_f32(f32_to_bf16(scale));
    matrix.set_group(group, scale, number());
    if (random() % 8 == 0) matrix.set_group(group, -0.0f, 0.0f);
  }
}

TEST(MlxRepack, AffineIntoQ41AndQ51) {
  std::mt19937 random(3);
  for (const u32 bits : {2u, 3u, 4u, 5u}) {
    for (const u32 group : {32u, 64u, 96u, 128u}) {
      for (const TensorType type : {F16, BF16, F32}) {
        SCOPED_TRACE(testing::Message() << bits << " bits, group " << group << " " << type_name(type));
        MlxMatrix matrix(affine_form(bits, group, 3 * group, type), 77);
        if (group == 64) matrix = MlxMatrix({{Mode::affine, bits, group}, type, F32, 3 * group}, 77);  // mixed types
        matrix.randomize_codes(random);
        randomize_groups(matrix, random);
        const Target target = target_of(matrix);
        expect_target(target, bits == 5 ? Q5_1 : Q4_1, Carry::blocks, true);
        EXPECT_EQ(target.reason, "");
        expect_exact(matrix, target);
        expect_exact(matrix, target_of(matrix, {Q8_0, true, true}));  // --exact and --compat change nothing
      }
    }
  }
}

TEST(MlxRepack, EveryScaleOfF16AndBf16) {
  for (const TensorType type : {F16, BF16}) {
    // All finite scales below 65520 in f16, with 4 bits; the biases are the same values in reverse order.
    std::vector<float> scales;
    for (u32 code = 0; code < 65536; ++code) {
      const float value = type == F16 ? f16_to_f32(static_cast<u16>(code)) : bf16_to_f32(static_cast<u16>(code));
      if (std::abs(value) < 65520 && f16_to_f32(f32_to_f16(value)) == value) scales.push_back(value);
    }
    MlxMatrix matrix(affine_form(4, 32, 32, type), scales.size());
    std::mt19937 random(4);
    matrix.randomize_codes(random);
    for (std::size_t i = 0; i < scales.size(); ++i) matrix.set_group(i, scales[i], scales[scales.size() - 1 - i]);
    const ScaleAnalysis analysis = analyse(matrix);
    EXPECT_EQ(analysis.values, 2 * scales.size());
    EXPECT_EQ(analysis.inexact, 0u);
    EXPECT_EQ(analysis.too_large, 0u);
    expect_exact(matrix, target_of(matrix));
  }
}

TEST(MlxRepack, EveryBf16IsClassified) {
  for (u32 code = 0; code < 65536; ++code) {
    MlxMatrix matrix(affine_form(4, 32, 32, BF16), 1);
    const u16 bits = static_cast<u16>(code);
    std::memcpy(matrix.scales.data(), &bits, 2);
    const double value = std::abs(static_cast<double>(bf16_to_f32(bits)));
    const bool too_large = !(value < 65520);
    const bool exact = value == 0 || (value >= std::ldexp(1.0, -24) && std::fmod(value, std::ldexp(1.0, -24)) == 0);
    const ScaleAnalysis analysis = analyse(matrix);
    ASSERT_EQ(analysis.too_large, too_large ? 1u : 0u) << code;
    ASSERT_EQ(analysis.inexact, too_large || exact ? 0u : 1u) << code;
    if (value >= std::ldexp(1.0, -17) && value <= 65280) {
      ASSERT_TRUE(exact && !too_large);
    }
  }
}

TEST(MlxRepack, SymmetricEightBitsIntoQ80) {
  std::mt19937 random(5);
  for (const TensorType type : {F16, BF16, F32}) {
    for (const u32 group : {32u, 64u, 128u}) {
      MlxMatrix matrix(affine_form(8, group, 2 * group, type), 50);
      matrix.randomize_codes(random);
      for (u64 g = 0; g < matrix.groups(); ++g) {
        const float scale = std::ldexp(static_cast<float>(static_cast<int>(random() % 255) - 127), -12);
        matrix.set_group(g, scale, -128 * scale);
      }
      const Target target = target_of(matrix);
      expect_target(target, Q8_0, Carry::blocks, true);
      expect_exact(matrix, target);
      expect_target(target_of(matrix, {F16, true, false}), Q8_0, Carry::blocks, true);
      matrix.set_group(7, 1, -127);
      expect_target(target_of(matrix), Q8_0, Carry::q8_0_best, false);
    }
  }
}

TEST(MlxRepack, Mxfp4) {
  // Every exponent but 255 with every code.
  MlxMatrix matrix(fp_form(Mode::mxfp4, 32), 255);
  for (u64 i = 0; i < matrix.elements(); ++i) matrix.set_code(i, static_cast<u32>(i * 7 + i / 32));
  for (u32 e = 0; e < 255; ++e) matrix.scales[e] = static_cast<std::byte>(e);
  expect_target(target_of(matrix), MXFP4, Carry::blocks, true);
  expect_exact(matrix, target_of(matrix));
  expect_target(target_of(matrix, {Q8_0, false, true}), BF16, Carry::encode, true);
  expect_exact(matrix, target_of(matrix, {Q8_0, false, true}));

  MlxMatrix narrow(fp_form(Mode::mxfp4, 64), 20);
  for (u64 i = 0; i < narrow.elements(); ++i) narrow.set_code(i, static_cast<u32>(i * 5 + i / 32));
  for (u32 g = 0; g < 40; ++g) narrow.scales[g] = static_cast<std::byte>(104 + g);
  expect_target(target_of(narrow, {Q8_0, true, true}), Q5_0, Carry::blocks, true);
  expect_exact(narrow, target_of(narrow, {Q8_0, true, true}));
  for (const u8 e : {103, 144}) {
    narrow.scales[3] = std::byte{e};
    expect_target(target_of(narrow, {Q8_0, false, true}), BF16, Carry::encode, true);
  }
  // Groups of zeros are ignored if the codes are examined, but must not get a scale that makes them NaN.
  for (u64 i = 96; i < 128; ++i) narrow.set_code(i, i % 2 != 0 ? 8 : 0);
  for (const u8 e : {0, 103, 144, 200, 254}) {
    narrow.scales[3] = std::byte{e};
    expect_target(target_of(narrow, {Q8_0, false, true}), BF16, Carry::encode, true);
    const Target target = target_of(narrow, {Q8_0, false, true}, true);
    expect_target(target, Q5_0, Carry::blocks, true);
    expect_exact(narrow, target);
  }
  narrow.scales[3] = std::byte{255};
  expect_target(target_of(narrow, {}, true), F32, Carry::encode, true);
  expect_target(target_of(narrow), F32, Carry::encode, true);
}

TEST(MlxRepack, Nvfp4) {
  for (const u64 columns : {64u, 192u, 48u, 16u}) {
    MlxMatrix matrix(fp_form(Mode::nvfp4, columns), 127 * 4);
    for (u64 i = 0; i < matrix.elements(); ++i) matrix.set_code(i, static_cast<u32>(i * 3 + i / 16));
    for (u64 g = 0; g < matrix.groups(); ++g) matrix.scales[g] = static_cast<std::byte>(g % 127);
    const Target target = target_of(matrix, {Q8_0, true, false});
    if (columns % 64 == 0) {
      expect_target(target, NVFP4, Carry::blocks, true);
    } else {
      expect_target(target, F16, Carry::encode, true);
    }
    expect_exact(matrix, target);
    expect_target(target_of(matrix, {Q8_0, true, true}), F16, Carry::encode, true);
    expect_exact(matrix, target_of(matrix, {Q8_0, true, true}));
    expect_exact(matrix, {BF16, Carry::encode, true, {}});
    // MLX reads these bytes as 480 and as negative numbers, unlike ggml.
    for (u64 g = 0; g < matrix.groups(); ++g) matrix.scales[g] = static_cast<std::byte>(127 + g % 129);
    EXPECT_EQ(analyse(matrix).odd_scales, matrix.groups());
    expect_target(target_of(matrix), F16, Carry::encode, true);
    expect_exact(matrix, target_of(matrix));
  }
}

TEST(MlxRepack, Mxfp8) {
  MlxMatrix matrix(fp_form(Mode::mxfp8, 256), 244);  // every code with every exponent from 3 to 246
  for (u64 i = 0; i < matrix.elements(); ++i) matrix.set_code(i, static_cast<u32>(i % 256));
  for (u64 g = 0; g < matrix.groups(); ++g) matrix.scales[g] = static_cast<std::byte>(3 + g / 8);
  expect_target(target_of(matrix, {Q8_0, true, true}), BF16, Carry::encode, true);
  expect_exact(matrix, target_of(matrix));
  // Below and above the limits: the smallest codes are in group 96, the largest in 103.
  for (const auto& [e, group] : {std::pair<u8, u64>{2, 96}, {247, 103}}) {
    const std::byte before = matrix.scales[group];
    matrix.scales[group] = std::byte{e};
    expect_target(target_of(matrix), F32, Carry::encode, true);
    expect_exact(matrix, target_of(matrix));
    ValueSums error;
    (void)carry(matrix, {BF16, Carry::encode, true, {}}, &error);
    // Too small for BF16; at the upper end, float32 itself overflows.
    EXPECT_EQ(error.max_abs, e == 2 ? 0x1p-134 : 0);
    matrix.scales[group] = before;
  }
  for (u64 i = 3200; i < 3232; ++i) matrix.set_code(i, 0);
  matrix.scales[100] = std::byte{0};  // a group of zeros as written by Metal
  expect_target(target_of(matrix), F32, Carry::encode, true);
  expect_target(target_of(matrix, {}, true), BF16, Carry::encode, true);
}

TEST(MlxRepack, BeyondF16BecomesF32WhateverTheFallback) {
  std::mt19937 random(6);
  for (const TensorType fallback : {Q8_0, F16, BF16, F32}) {
    for (const u32 bits : {4u, 5u, 6u, 8u}) {
      for (const TensorType type : {BF16, F32}) {
        MlxMatrix matrix(affine_form(bits, 64, 64, type), 8);
        matrix.randomize_codes(random);
        randomize_groups(matrix, random);
        matrix.set_group(2, 1, type == F32 ? 65519.996f : 65280.0f);
        EXPECT_EQ(analyse(matrix).too_large, 0u);
        matrix.set_group(5, type == F32 ? -65520.0f : -65536.0f, 70000);
        const Target target = target_of(matrix, {fallback, true, false});
        EXPECT_EQ(analyse(matrix).too_large, 2u);
        expect_target(target, F32, Carry::encode, true);
        EXPECT_NE(target.reason.find("2 of 16"), std::string::npos) << target.reason;
        expect_exact(matrix, target);
      }
    }
  }
  // NaN scales are copied unchanged.
  MlxMatrix matrix(affine_form(4, 32, 32), 1);
  matrix.set_group(0, std::numeric_limits<float>::quiet_NaN(), 1);
  EXPECT_EQ(analyse(matrix).too_large, 1u);
  EXPECT_EQ(analyse(matrix).largest, HUGE_VAL);
  expect_target(target_of(matrix), F32, Carry::encode, true);
  EXPECT_TRUE(std::isnan(carry(matrix, target_of(matrix))[0]));
}

TEST(MlxRepack, RoundedScalesStayInTheirBlocks) {
  std::mt19937 random(7);
  for (const u32 bits : {2u, 3u, 4u, 5u}) {
    MlxMatrix matrix(affine_form(bits, 64, 128, BF16), 40);
    matrix.randomize_codes(random);
    randomize_groups(matrix, random);
    matrix.set_group(9, 0x1.02p-19f, 0.25f);  // between two f16 subnormals
    const ScaleAnalysis analysis = analyse(matrix);
    EXPECT_EQ(analysis.inexact, 1u);
    const Target target = target_of(matrix, {F32, false, false});
    expect_target(target, bits == 5 ? Q5_1 : Q4_1, Carry::blocks, false);
    EXPECT_NE(target.reason.find("1 of 160"), std::string::npos) << target.reason;
    ValueSums error;
    const std::vector<float> got = carry(matrix, target, &error);
    const std::vector<float> want = matrix.values();
    double squared = 0;
    double values = 0;
    double largest = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
      squared += difference * difference;
      values += static_cast<double>(want[i]) * static_cast<double>(want[i]);
      largest = std::max(largest, difference);
      if (i / 64 != 9) {
        ASSERT_EQ(got[i], want[i]);
      }
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(largest, std::ldexp(1.0, static_cast<int>(bits) - 25));
    EXPECT_DOUBLE_EQ(error.max_abs, largest);
    EXPECT_NEAR(error.dd, squared, squared * 0x1p-20);
    EXPECT_NEAR(error.aa, values, values * 0x1p-20);
    EXPECT_NEAR(error.rms(), std::sqrt(squared / values), std::sqrt(squared / values) * 0x1p-20);

    const auto refused = choose_target(matrix.form, analysis, {Q8_0, true, false}, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "convert-inexact");
    expect_target(target_of(matrix, {F32, true, false}), F32, Carry::encode, true);
    // If all codes of a group are 0, only its bias matters.
    for (u64 i = 9 * 64; i < 10 * 64; ++i) matrix.set_code(i, 0);
    const Target exact = target_of(matrix, {Q8_0, true, false}, true);
    expect_target(exact, bits == 5 ? Q5_1 : Q4_1, Carry::blocks, true);
    expect_exact(matrix, exact);
    matrix.set_group(9, 0.25f, 0x1.02p-19f);
    EXPECT_EQ(analyse(matrix, true).inexact, 1u) << "an inexact bias always counts";
  }
}

TEST(MlxRepack, Fallbacks) {
  std::mt19937 random(8);
  MlxMatrix matrix(affine_form(4, 64, 64, F32), 30);
  matrix.randomize_codes(random);
  for (u64 g = 0; g < matrix.groups(); ++g) matrix.set_group(g, 0.1f, -0.7f);
  // f32 scales that f16 cannot hold.
  for (const auto& [fallback, limit] : {std::pair{Q8_0, 5e-3}, {F16, 3e-4}, {BF16, 3e-3}, {F32, 0.0}}) {
    const Target target = target_of(matrix, {fallback, false, false});
    expect_target(target, fallback, fallback == Q8_0 ? Carry::q8_0_best : Carry::encode, fallback == F32);
    EXPECT_NE(target.reason, "");
    ValueSums error;
    (void)carry(matrix, target, &error);
    EXPECT_LE(error.rms(), limit);
    EXPECT_EQ(choose_target(matrix.form, analyse(matrix), {fallback, true, false}, false).has_value(), fallback == F32);
  }
  // Groups that do not align with blocks of 32, and rows that are not whole blocks.
  for (const u32 group : {8u, 16u, 48u}) {
    for (const u32 bits : {4u, 6u, 8u}) {
      MlxMatrix odd(affine_form(bits, group, 96), 20);
      odd.randomize_codes(random);
      for (u64 g = 0; g < odd.groups(); ++g) {
        odd.set_group(g, 0.01f * static_cast<float>(1 + g % 5), -0.02f * static_cast<float>(g % 7));
      }
      const Target target = target_of(odd);
      expect_target(target, Q8_0, Carry::q8_0_best, false);
      ValueSums error;
      (void)carry(odd, target, &error);
      EXPECT_LE(error.rms(), 1e-2);
      MlxMatrix short_rows(affine_form(bits, group, group == 48 ? 48 : 16), 20);
      expect_target(target_of(short_rows), F16, Carry::encode, false);
    }
  }
  // Values beyond F16's range with scales within it; then beyond Q8_0's range, too.
  MlxMatrix large(affine_form(8, 64, 64, F32), 2);
  large.set_group(0, 1000, -1);
  expect_target(target_of(large, {F16, false, false}), F32, Carry::encode, true);
  expect_target(target_of(large, {BF16, false, false}), BF16, Carry::encode, false);
  expect_target(target_of(large), Q8_0, Carry::q8_0_best, false);
  large.set_group(0, 60000, -1);
  expect_target(target_of(large), F32, Carry::encode, true);
  // 255 × 300 = 76500, but the values are between −38000 and 38500, so F16 is fine.
  large.set_group(0, 300, -38000);
  expect_target(target_of(large, {F16, false, false}), F16, Carry::encode, false);
  const auto wanted = choose_target(large.form, analyse(large), {}, true);
  ASSERT_TRUE(wanted);
  expect_target(*wanted, F32, Carry::encode, true);
}

TEST(MlxRepack, ScalesThatMayOverflowAreTold) {
  const auto overflows = [](const MlxForm& form, const ScaleAnalysis& analysis) {
    return choose_target(form, analysis, {}, false).value().may_overflow;
  };
  for (const auto& [mode, greatest] : {std::pair{Mode::mxfp4, 252}, {Mode::mxfp8, 246}}) {
    ScaleAnalysis analysis;
    analysis.least_exponent = 100;
    analysis.greatest_exponent = static_cast<u8>(greatest);
    EXPECT_FALSE(overflows(fp_form(mode, 64), analysis));
    ++analysis.greatest_exponent;
    EXPECT_TRUE(overflows(fp_form(mode, 64), analysis));
  }
  const auto affine = [&](float scale, float bias) {
    const u16 bits[2] = {f32_to_bf16(scale), f32_to_bf16(bias)};
    const Bytes bytes = std::as_bytes(std::span(bits));
    ScaleAnalysis analysis;
    analyse_scales(affine_form(4, 64, 64, BF16), bytes.first(2), bytes.last(2), {}, analysis);
    return overflows(affine_form(4, 64, 64, BF16), analysis);
  };
  EXPECT_FALSE(affine(1e37f, 1e38f));
  EXPECT_TRUE(affine(3e37f, 1e38f)) << "15 × scale + bias";
  EXPECT_TRUE(affine(HUGE_VALF, 0));
  EXPECT_TRUE(affine(0, std::nanf("")));
}

TEST(MlxRepack, PartsOfAnAnalysisAddUp) {
  std::mt19937 random(9);
  MlxMatrix matrix(affine_form(4, 32, 32, BF16), 64);
  for (std::byte& byte : matrix.scales) byte = static_cast<std::byte>(random());
  for (std::byte& byte : matrix.biases) byte = static_cast<std::byte>(random());
  const ScaleAnalysis whole = analyse(matrix);
  ScaleAnalysis sum;
  for (u64 part = 0; part < 4; ++part) {
    ScaleAnalysis one;
    analyse_scales(matrix.form, Bytes(matrix.scales).subspan(32 * part, 32),
                   Bytes(matrix.biases).subspan(32 * part, 32), {}, one);
    sum.add(one);
  }
  EXPECT_EQ(sum.values, whole.values);
  EXPECT_EQ(sum.inexact, whole.inexact);
  EXPECT_EQ(sum.too_large, whole.too_large);
  EXPECT_EQ(sum.largest, whole.largest);
  EXPECT_EQ(sum.symmetric, whole.symmetric);
  EXPECT_GT(whole.inexact, 0u);
  EXPECT_GT(whole.too_large, 0u);
}

}  // namespace
}  // namespace modelutils
