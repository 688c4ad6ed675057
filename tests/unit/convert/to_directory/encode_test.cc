// Forms of single tensors and their encoded rows: every block type, every fallback, every kind of scale.
#include "convert/to_directory/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "io/random_access_file.h"
#include "model/mlx/block_form.h"
#include "model/mlx/quantization.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "tensor/value_sums.h"

namespace modelutils::to_directory {
namespace {

// A GGUF with one matrix, and the resulting module.
struct OneMatrix {
  Catalog catalog;
  std::vector<DirectoryTensor> tensors;
  std::vector<std::byte> blocks;

  OneMatrix(TensorType type, u64 columns, std::vector<std::byte> bytes) : blocks(bytes) {
    const u64 rows = bytes.size() / *row_bytes(type, columns);
    catalog.files.push_back({"m.gguf", "m.gguf", std::make_shared<MemoryFile>(std::move(bytes))});
    Tensor& stored = catalog.add("x.weight", {columns, rows});
    stored.type = type;
    stored.bytes = blocks.size();
    DirectoryTensor tensor;
    tensor.name = "model.x.weight";
    tensor.ne = {columns, rows};
    tensor.unit = columns;
    tensor.may_quantize = true;
    tensor.parts.push_back({0, arch::whole_view(rows), arch::whole_view(rows)});
    tensors.push_back(std::move(tensor));
  }

  Result<DirectoryForm> form(const FormOptions& options = {}) const {
    MU_ASSIGN(const std::vector<DirectoryForm> forms, choose_forms(catalog, tensors, options, 2));
    return forms.front();
  }

  std::vector<float> values() const {
    const TypeInfo& info = type_info(*catalog.tensors[0].type);
    std::vector<float> out(blocks.size() / info.block_bytes * info.block_elements);
    dequantize(info.type, blocks, out);
    return out;
  }

  // Returns the directory's values, decoded by MLX's rules; rows are processed in pieces of `step`.
  std::vector<float> carried(const DirectoryForm& form, u64 step, ValueSums* error = nullptr) const {
    DirectoryEncoder encoder(catalog, tensors[0], form);
    std::vector<float> all;
    for (u64 first = 0; first < tensors[0].rows(); first += step) {
      const u64 count = std::min(step, tensors[0].rows() - first);
      const EncodedSizes sizes = encoded_sizes(tensors[0], form);
      std::vector<std::byte> weight(count * sizes.weight), scales(count * sizes.scales), biases(count * sizes.biases);
      const EncodedPiece rows{weight, scales, biases};
      EXPECT_TRUE(encoder.encode(first, count, rows, error));
      std::vector<float> out(count * tensors[0].row_elements());
      if (form.is_packed()) {
        mlx::dequantize(form.params, {rows.weight, form.type, rows.scales, form.type, rows.biases}, out);
      } else {
        dequantize(form.type, rows.weight, out);
      }
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  }
};

template <typename T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::vector<std::byte> random_bytes(std::size_t count, u32 seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::vector<std::byte> blocks_of(TensorType type, std::size_t count) {
  const u32 size = type_info(type).block_bytes;
  std::vector<std::byte> bytes = random_bytes(count * size, static_cast<u32>(type) + 1);
  const auto at = [&]() -> std::vector<u32> {
    switch (type) {
      case TensorType::Q4_1:
      case TensorType::Q5_1:
      case TensorType::Q4_K:
      case TensorType::Q5_K: return {0, 2};
      case TensorType::Q2_K: return {80, 82};
      case TensorType::Q3_K: return {108};
      case TensorType::Q6_K: return {208};
      case TensorType::TQ1_0: return {52};
      case TensorType::TQ2_0: return {64};
      case TensorType::MXFP4:
      case TensorType::NVFP4:
      case TensorType::IQ1_M: return {};
      default: return {0};
    }
  }();
  std::mt19937 random(7);
  for (std::size_t b = 0; b < count; ++b) {
    for (const u32 offset : at) {
      put(bytes, b * size + offset, f32_to_f16((static_cast<float>(random() % 4000) - 2000.0f) / 17000.0f));
    }
    for (u32 word = 0; type == TensorType::IQ1_M && word < 4; ++word) {  // d is 0x2C15, about 0.07
      std::byte& high = bytes[b * size + 49 + 2 * word];
      high = (high & std::byte{0x0F}) | static_cast<std::byte>((0x2C15u >> (4 * word) & 15u) << 4);
    }
    if (type == TensorType::MXFP4) bytes[b * size] = static_cast<std::byte>(100 + random() % 20);
    for (u32 part = 0; type == TensorType::NVFP4 && part < 4; ++part) bytes[b * size + part] &= std::byte{0x3F};
  }
  return bytes;
}

OneMatrix matrix_of(TensorType type, u64 rows = 6) {
  const u64 columns = 512;
  return {type, columns, blocks_of(type, rows * columns / type_info(type).block_elements)};
}

double rms(std::span<const float> wanted, std::span<const float> found) {
  double error = 0;
  double sum = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted[i]), 2);
    sum += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return std::sqrt(error / sum);
}

TEST(DirectoryEncode, EveryBlockTypeWithAFormIsCarriedExactly) {
  for (const TypeInfo& info : all_types()) {
    if (!mlx::exact_params(info.type)) continue;
    const OneMatrix matrix = matrix_of(info.type);
    FormOptions options;
    options.exact = true;
    const auto form = matrix.form(options);
    ASSERT_TRUE(form) << info.name << form.error().message;
    EXPECT_EQ(form->way, FormWay::blocks) << info.name;
    EXPECT_EQ(form->exact, true) << info.name;
    EXPECT_EQ(matrix.carried(*form, 4), matrix.values()) << info.name << ", " << form->text();
  }
}

// Without --exact, scales that are products are rounded to F16; the error is measured.
TEST(DirectoryEncode, ScalesAreRoundedWhereThatCostsLittle) {
  for (const TensorType type : {TensorType::Q4_K, TensorType::Q5_K, TensorType::IQ4_XS, TensorType::IQ2_XXS,
                                TensorType::IQ3_XXS, TensorType::IQ3_S, TensorType::IQ1_S, TensorType::IQ1_M}) {
    const OneMatrix matrix = matrix_of(type);
    const auto form = matrix.form();
    ASSERT_TRUE(form);
    EXPECT_EQ(form->type, TensorType::F16) << type_name(type);
    EXPECT_EQ(form->exact, false) << type_name(type);
    const double found = rms(matrix.values(), matrix.carried(*form, 5));
    EXPECT_GT(found, 0) << type_name(type);
    EXPECT_LT(found, 1e-3) << type_name(type);
    EXPECT_NEAR(form->rms, found, found * 1e-3) << type_name(type);
  }
}

TEST(DirectoryEncode, ChosenScalesAreExactOrRefused) {
  const OneMatrix matrix = matrix_of(TensorType::Q4_K);
  FormOptions options;
  options.scales = TensorType::BF16;
  auto form = matrix.form(options);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->type, TensorType::BF16);
  EXPECT_NEAR(form->rms, rms(matrix.values(), matrix.carried(*form, 6)), 1e-5);
  options.exact = true;
  EXPECT_EQ(matrix.form(options).error().code, "convert-inexact");
  options.fallback = fallback_form("f32");
  form = matrix.form(options);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text(), "F32");
  EXPECT_EQ(matrix.carried(*form, 1), matrix.values());
  options = {};
  options.scales = TensorType::F32;
  form = matrix.form(options);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text(), "affine 4-bit, group 32, F32 scales");
  EXPECT_EQ(matrix.carried(*form, 1), matrix.values());
}

TEST(DirectoryEncode, ScalesTooLargeForF16AreF32) {
  for (const float d : {8188.0f, 8192.0f}) {  // 8 × 8192 is infinite
    std::vector<std::byte> bytes = blocks_of(TensorType::Q4_0, 8);
    put(bytes, 18, f32_to_f16(d));
    const OneMatrix matrix(TensorType::Q4_0, 64, bytes);
    for (const auto& scales : {std::optional<TensorType>(), std::optional(TensorType::F16)}) {
      FormOptions options;
      options.scales = scales;
      const auto form = matrix.form(options);
      ASSERT_TRUE(form);
      EXPECT_EQ(form->type, d > 8188 ? TensorType::F32 : TensorType::F16);
      EXPECT_EQ(form->exact, true);
      EXPECT_EQ(matrix.carried(*form, 4), matrix.values());
    }
  }
}

TEST(DirectoryEncode, EqualGroupsAreMergedAndShortCodesNarrowed) {
  const auto with = [](u32 sharing, u8 mask, u64 columns) {
    std::vector<std::byte> bytes = blocks_of(TensorType::Q4_1, 24);
    for (std::size_t b = 0; b < 24; ++b) {
      std::memcpy(bytes.data() + b * 20, bytes.data() + b / sharing * sharing * 20, 4);
      for (std::size_t i = 4; i < 20; ++i) bytes[b * 20 + i] &= static_cast<std::byte>(mask);
    }
    return OneMatrix(TensorType::Q4_1, columns, bytes);
  };
  struct Case {
    u32 sharing;
    u8 mask;
    u64 columns;
    u32 bits, group;
  };
  for (const Case& test :
       {Case{1, 0xFF, 256, 4, 32}, Case{2, 0xFF, 256, 4, 64}, Case{4, 0xFF, 256, 4, 128}, Case{4, 0xFF, 64, 4, 64},
        Case{4, 0xFF, 96, 4, 32}, Case{2, 0x33, 64, 2, 64}, Case{4, 0x77, 128, 3, 128}, Case{1, 0x77, 96, 3, 32}}) {
    const OneMatrix matrix = with(test.sharing, test.mask, test.columns);
    const auto form = matrix.form();
    ASSERT_TRUE(form);
    EXPECT_EQ(form->params, (mlx::Params{mlx::Mode::affine, test.bits, test.group})) << form->text();
    for (const u64 step : {1u, 3u}) EXPECT_EQ(matrix.carried(*form, step), matrix.values()) << form->text();
  }
}

TEST(DirectoryEncode, TypesOfTwoScalesAreSearchedOrFallBack) {
  for (const TensorType type : {TensorType::Q6_K, TensorType::Q2_K, TensorType::IQ2_XS, TensorType::IQ2_S}) {
    const OneMatrix matrix = matrix_of(type, 3);
    auto form = matrix.form();
    ASSERT_TRUE(form);
    EXPECT_EQ(form->text(), "affine 8-bit, group 32, F16 scales");
    EXPECT_FALSE(form->exact.has_value());
    ValueSums error;
    const double found = rms(matrix.values(), matrix.carried(*form, 2, &error));
    EXPECT_LT(found, 0.006) << type_name(type);
    EXPECT_NEAR(error.rms(), found, 1e-9);
    FormOptions options;
    options.exact = true;
    EXPECT_EQ(matrix.form(options).error().code, "convert-inexact");
    options.fallback = fallback_form("f32");
    form = matrix.form(options);
    ASSERT_TRUE(form);
    EXPECT_EQ(matrix.carried(*form, 2), matrix.values());
    for (const std::string& name : fallback_names()) {
      options = {};
      options.fallback = fallback_form(name);
      form = matrix.form(options);
      ASSERT_TRUE(form) << name;
      ValueSums measured;
      const double distance = rms(matrix.values(), matrix.carried(*form, 2, &measured));
      EXPECT_NEAR(measured.rms(), distance, 1e-6) << name;
      EXPECT_LT(distance, name.starts_with("affine2") ? 1.0 : name.starts_with("affine3") ? 0.5 : 0.3) << name;
    }
  }
}

TEST(DirectoryEncode, WhatMlxWouldReadInAnotherWayFallsBack) {
  std::vector<std::byte> bytes = blocks_of(TensorType::NVFP4, 8);
  bytes[1] = std::byte{0x7F};
  const auto form = OneMatrix(TensorType::NVFP4, 128, bytes).form();
  ASSERT_TRUE(form);
  EXPECT_EQ(form->way, FormWay::search);
  EXPECT_NE(form->reason.find("another meaning in MLX"), std::string::npos);
}

// Only their scales were examined, so nothing may be claimed about the values.
TEST(DirectoryEncode, WhatFallsBackIsLookedAtAsValues) {
  std::vector<std::byte> bytes = blocks_of(TensorType::MXFP4, 8);
  bytes[0] = std::byte{0xFF};
  bytes[1] = std::byte{0x77};  // 12 × 2^127
  auto form = OneMatrix(TensorType::MXFP4, 64, bytes).form();
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text(), "F32") << "values are infinite";
  for (std::size_t i = 1; i < 17; ++i) bytes[i] = std::byte{0x11};  // 2^127, which is finite
  FormOptions options;
  options.exact = true;
  options.fallback = fallback_form("f16");
  EXPECT_EQ(OneMatrix(TensorType::MXFP4, 64, bytes).form(options).error().code, "convert-inexact");
  options.fallback = fallback_form("bf16");
  form = OneMatrix(TensorType::MXFP4, 64, bytes).form(options);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->exact, true);
}

TEST(DirectoryEncode, InfiniteScalesAreKeptAsValues) {
  std::vector<std::byte> bytes = blocks_of(TensorType::Q4_0, 4);
  put(bytes, 0, u16{0x7C00});
  const OneMatrix matrix(TensorType::Q4_0, 64, bytes);
  const auto form = matrix.form();
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text(), "F32");
}

OneMatrix plain(std::vector<float> values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {TensorType::F32, values.size(), bytes};
}

TEST(DirectoryEncode, PlainValuesGetTheNarrowestTypeThatHoldsThem) {
  EXPECT_EQ(plain({1, 2, -0.5f, 0x1p90f}).form()->text(), "BF16");
  EXPECT_EQ(plain({1, 2, 1.0009765625f}).form()->text(), "F16");
  EXPECT_EQ(plain({1, 2, 0.1f}).form()->text(), "F32");
  FormOptions options;
  options.dtype = TensorType::F16;
  const OneMatrix matrix = plain({1, 0.1f});
  const auto form = matrix.form(options);
  ASSERT_TRUE(form);
  EXPECT_FALSE(form->exact.has_value());
  ValueSums error;
  EXPECT_EQ(matrix.carried(*form, 1, &error)[1], f16_to_f32(f32_to_f16(0.1f)));
  EXPECT_GT(error.rms(), 0);
  options.exact = true;
  EXPECT_EQ(matrix.form(options).error().code, "convert-inexact");
}

TEST(DirectoryEncode, ExactWithATypeRefusesOnlyWhatItDoesNotHold) {
  FormOptions options;
  options.exact = true;
  options.dtype = TensorType::BF16;
  const auto form = plain({1, 2, -0.5f}).form(options);
  ASSERT_TRUE(form) << form.error().message;
  EXPECT_EQ(form->text(), "BF16");
  EXPECT_EQ(form->exact, true);
  EXPECT_EQ(plain({1, 2, 1.0009765625f}).form(options).error().code, "convert-inexact");
  options.dtype = {};
  options.dequantize = TensorType::F16;
  EXPECT_EQ(plain({1, 0x1p90f}).form(options).error().code, "convert-inexact");
  EXPECT_TRUE(plain({1, 1.0009765625f}).form(options));
}

// MLX has no F64. The loss in F32 is reported and counts as an error.
TEST(DirectoryEncode, DoublesBecomeF32) {
  const auto doubles = [](std::vector<double> values) {
    std::vector<std::byte> bytes(values.size() * sizeof(double));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return OneMatrix(TensorType::F64, values.size(), bytes);
  };
  const OneMatrix fits = doubles({1, 0.5, 1e10});
  EXPECT_EQ(fits.form()->text(), "F32");
  EXPECT_EQ(fits.form()->exact, true);
  const OneMatrix matrix = doubles({1, 1 + 0x1p-30});
  const auto form = matrix.form();
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text(), "F32");
  EXPECT_FALSE(form->exact.has_value());
  ValueSums error;
  matrix.carried(*form, 1, &error);
  EXPECT_NEAR(error.rms(), 0x1p-30 / std::sqrt(2.0), 1e-12);
  FormOptions options;
  options.exact = true;
  EXPECT_EQ(matrix.form(options).error().code, "convert-inexact");
  options.fallback = fallback_form("f32");
  EXPECT_EQ(matrix.form(options).error().code, "convert-inexact");
}

// The first values show that 16 bits are insufficient; whether F32 is sufficient is only known after all values.
TEST(DirectoryEncode, EveryDoubleIsLookedAt) {
  std::vector<double> values(1 << 19, 1 + 0x1p-20);
  const auto form_of = [&] {
    std::vector<std::byte> bytes(values.size() * sizeof(double));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return OneMatrix(TensorType::F64, 1024, std::move(bytes)).form();
  };
  EXPECT_EQ(form_of()->exact, true);
  values.back() = 1 + 0x1p-30;
  const auto form = form_of();
  ASSERT_TRUE(form);
  EXPECT_NE(form->exact, true);
}

// A stack whose parts have different types.
TEST(DirectoryEncode, DoublesAmongBlocksAreNotExactInF32) {
  for (const double last : {1.5, 1 + 0x1p-30}) {
    OneMatrix stack(TensorType::Q8_0, 32, blocks_of(TensorType::Q8_0, 1));
    const std::vector<double> values(32, last);
    std::vector<std::byte> bytes(values.size() * sizeof(double));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const OneMatrix doubles(TensorType::F64, 32, std::move(bytes));
    stack.catalog.files.push_back(doubles.catalog.files.front());
    stack.catalog.tensors.push_back(doubles.catalog.tensors.front());
    stack.catalog.tensors.back().file = 1;
    stack.tensors.front().ne = {32, 2};
    RecipePart second = stack.tensors.front().parts.front();
    second.source = 1;
    second.to.base = 1;
    stack.tensors.front().parts.push_back(second);
    FormOptions options;
    options.exact = true;
    options.fallback = fallback_form("f32");
    EXPECT_EQ(stack.form(options).has_value(), last == 1.5);
  }
}

// In each group, half of the values are large compared with the others, which lie between the lattice's points.
TEST(DirectoryEncode, NoMatrixLosesMoreThanOnePercentUnasked) {
  std::vector<std::byte> bytes(4 * type_info(TensorType::Q6_K).block_bytes);
  std::mt19937 random(1);
  for (std::size_t b = 0; b < 4; ++b) {
    const std::size_t at = b * type_info(TensorType::Q6_K).block_bytes;
    std::array<u32, 256> codes{};
    for (u32 half = 0; half < 16; ++half) {
      const bool is_large = half % 2 == 0;
      put(bytes, at + 192 + half, static_cast<i8>(is_large ? 127 : 1));
      for (u32 i = 0; i < 16; ++i) codes[16 * half + i] = is_large ? 32 : 42 + 10 * (random() % 3);
      if (is_large) codes[16 * half] = 63;
      if (is_large) codes[16 * half + 1] = 0;
    }
    for (u32 i = 0; i < 256; ++i) {  // docs/formats/blocks.md
      const u32 n = i / 128;
      const u32 l = i % 32;
      const u32 k = i % 128 / 32;
      bytes[at + 64 * n + l + 32 * (k % 2)] |= static_cast<std::byte>((codes[i] & 15) << (4 * (k / 2)));
      bytes[at + 128 + 32 * n + l] |= static_cast<std::byte>(codes[i] >> 4 << (2 * k));
    }
    put(bytes, at + 208, f32_to_f16(0.01f));
  }
  const OneMatrix matrix(TensorType::Q6_K, 512, bytes);
  const auto form = matrix.form();
  ASSERT_TRUE(form);
  EXPECT_EQ(form->text(), "F16");
  EXPECT_LT(rms(matrix.values(), matrix.carried(*form, 1)), 0.001);
  DirectoryForm searched;
  searched.way = FormWay::search;
  searched.type = TensorType::F16;
  searched.params = {mlx::Mode::affine, 8, 32};
  EXPECT_GT(rms(matrix.values(), matrix.carried(searched, 1)), 0.01);
}

// Most values determine the type: a few that only F16 can hold do not make everything F16.
TEST(DirectoryEncode, MostValuesSayWhichTypeComesFirst) {
  const auto form_of_large = [](std::size_t only_f16) {
    OneMatrix large = plain(std::vector<float>(8, 0.5f));
    OneMatrix small = plain(std::vector<float>(only_f16, 1.0009765625f));
    large.catalog.files.push_back(small.catalog.files.front());
    large.catalog.tensors.push_back(small.catalog.tensors.front());
    large.catalog.tensors.back().file = 1;
    large.tensors.push_back(small.tensors.front());
    large.tensors.back().parts.front().source = 1;
    const auto forms = choose_forms(large.catalog, large.tensors, {}, 1);
    return forms->front().text() + " " + forms->back().text();
  };
  EXPECT_EQ(form_of_large(4), "BF16 F16");
  EXPECT_EQ(form_of_large(16), "F16 F16");
}

TEST(DirectoryEncode, DequantizeMakesEverythingPlain) {
  const OneMatrix matrix = matrix_of(TensorType::Q4_K);
  FormOptions options;
  options.dequantize = TensorType::F32;
  const auto form = matrix.form(options);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->exact, true);
  EXPECT_EQ(matrix.carried(*form, 5), matrix.values());
}

TEST(FallbackForm, HasTheNamesOfTheCommandLine) {
  EXPECT_EQ(fallback_names().size(), 24u);
  EXPECT_EQ(fallback_form("affine6-g128")->params, (mlx::Params{mlx::Mode::affine, 6, 128}));
  EXPECT_EQ(fallback_form("nvfp4")->params, (mlx::Params{mlx::Mode::nvfp4, 4, 16}));
  EXPECT_EQ(fallback_form("bf16")->type, TensorType::BF16);
  EXPECT_FALSE(fallback_form("affine7-g32"));
}

}  // namespace
}  // namespace modelutils::to_directory
