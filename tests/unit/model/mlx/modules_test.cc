#include "model/mlx/modules.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <deque>
#include <span>
#include <vector>

#include "tensor/half.h"

namespace modelutils::mlx {

namespace {

// A list of tensors, and the result of find_modules().
class ModulesTest : public ::testing::Test {
 protected:
  void add(std::string_view name, TensorType type, std::vector<u64> shape) {
    shapes_.push_back(std::move(shape));
    tensors_.push_back({name, type, shapes_.back()});
  }
  void add_affine(std::string_view weight, std::string_view scales, std::string_view biases) {
    add(weight, TensorType::U32, {2, 8});
    add(scales, TensorType::F16, {2, 2});
    add(biases, TensorType::F16, {2, 2});
  }
  Modules find(std::string_view config) {
    const auto parsed = hf::parse_config(config, "config.json");
    EXPECT_TRUE(parsed);
    return find_modules(tensors_, read_quantization(*parsed));
  }
  static std::vector<std::string> codes(const Modules& modules) {
    std::vector<std::string> list;
    for (const Finding& finding : modules.findings) {
      EXPECT_EQ(finding.scope, Scope::model);
      list.push_back(finding.code);
    }
    return list;
  }

  std::vector<TensorRef> tensors_;
  std::deque<std::vector<u64>> shapes_;
};

constexpr std::string_view four_bits = R"({"quantization": {"group_size": 32, "bits": 4}})";
using Codes = std::vector<std::string>;

TEST_F(ModulesTest, FindsThePartsInAnyOrder) {
  add("p.biases", TensorType::F16, {2, 2});
  add("p.bias", TensorType::F16, {2});
  add("norm.weight", TensorType::BF16, {64});
  add("p.weight", TensorType::U32, {2, 8});
  add("p.scales", TensorType::F16, {2, 2});
  const Modules modules = find(four_bits);
  EXPECT_TRUE(modules.findings.empty());
  ASSERT_EQ(modules.list.size(), 2u);
  EXPECT_EQ(modules.list[0].path, "norm");
  EXPECT_FALSE(modules.list[0].quantized);
  EXPECT_FALSE(modules.list[0].decodable);
  EXPECT_EQ(modules.list[0].shape, std::vector<u64>{64});
  const Module& packed = modules.list[1];
  EXPECT_EQ(packed.path, "p");
  EXPECT_TRUE(packed.quantized);
  EXPECT_TRUE(packed.decodable);
  EXPECT_EQ(packed.params, (Params{Mode::affine, 4, 32}));
  EXPECT_EQ(packed.shape, (std::vector<u64>{2, 64}));
  EXPECT_EQ(packed.weight, 3u);
  EXPECT_EQ(packed.scales, 4u);
  EXPECT_EQ(packed.biases, 0u);
  EXPECT_EQ(packed.bias, 1u) << ".bias is not .biases";
}

TEST_F(ModulesTest, FpModesHaveByteScalesAndNoBiases) {
  add("p.weight", TensorType::U32, {2, 8});
  add("p.scales", TensorType::U8, {2, 2});
  EXPECT_TRUE(find(R"({"quantization": {"mode": "mxfp4"}})").findings.empty());
  EXPECT_EQ(codes(find(four_bits)), (Codes{"mlx-scales-type", "mlx-biases-missing"}));
  add("p.biases", TensorType::F16, {2, 2});
  const Modules modules = find(R"({"quantization": {"mode": "mxfp4"}})");
  ASSERT_EQ(codes(modules), Codes{"mlx-biases-unexpected"});
  EXPECT_EQ(modules.findings[0].severity, Severity::warning);
}

TEST_F(ModulesTest, MissingParts) {
  add("a.weight", TensorType::U32, {2, 8});
  add("a.biases", TensorType::F16, {2, 2});
  add("b.weight", TensorType::U32, {2, 8});
  add("b.scales", TensorType::F16, {2, 2});
  add("c.scales", TensorType::F16, {2, 2});
  add("d.biases", TensorType::F16, {2, 2});
  EXPECT_EQ(codes(find(four_bits)), (Codes{"mlx-scales-missing", "mlx-scales-missing", "mlx-biases-missing",
                                           "mlx-weight-missing", "mlx-scales-missing"}));
}

TEST_F(ModulesTest, TypesAndShapes) {
  add("a.weight", TensorType::F32, {2, 8});
  add("a.scales", TensorType::I32, {2, 3});
  add("a.biases", TensorType::I32, {2, 1});
  const Modules modules = find(four_bits);
  EXPECT_EQ(codes(modules),
            (Codes{"mlx-weight-type", "mlx-scales-type", "mlx-scales-shape", "mlx-biases-type", "mlx-biases-shape"}));
  EXPECT_TRUE(modules.list[0].quantized);
  EXPECT_FALSE(modules.list[0].decodable);
  EXPECT_EQ(modules.list[0].shape, (std::vector<u64>{2, 8})) << "as stored";
}

TEST_F(ModulesTest, MixedScaleTypesAreAWarning) {
  add("a.weight", TensorType::U32, {2, 8});
  add("a.scales", TensorType::F32, {2, 2});
  add("a.biases", TensorType::F16, {2, 2});
  const Modules modules = find(four_bits);
  ASSERT_EQ(codes(modules), Codes{"mlx-biases-type"});
  EXPECT_EQ(modules.findings[0].severity, Severity::warning);
  EXPECT_TRUE(modules.list[0].decodable);
}

TEST_F(ModulesTest, TheConfigMustSayHow) {
  add_affine("a.weight", "a.scales", "a.biases");
  EXPECT_EQ(codes(find("{}")), Codes{"mlx-config-missing"});
  EXPECT_EQ(codes(find(R"({"quantization": [1]})")), Codes{"mlx-config-missing"});
  EXPECT_TRUE(find("{}").list[0].quantized);
  EXPECT_FALSE(find("{}").list[0].params);
  EXPECT_TRUE(find(R"({"quantization": {"bits": 0}})").findings.empty()) << "the config's own finding is enough";
  EXPECT_EQ(codes(find(R"({"quantization": {"group_size": 32, "bits": 4, "a": false}})")),
            Codes{"mlx-config-contradiction"});
  EXPECT_EQ(codes(find(R"({"quantization": {"group_size": 32, "bits": 8}})")), Codes{"mlx-scales-shape"});
}

TEST_F(ModulesTest, OverridesForWhatIsNotQuantisedOrNotThere) {
  add("a.weight", TensorType::F16, {2, 64});
  add("b.weight", TensorType::F16, {2, 64});
  const Modules modules =
      find(R"({"quantization": {"group_size": 32, "bits": 4, "a": {"bits": 8}, "b": false, "z": true}})");
  ASSERT_EQ(codes(modules), (Codes{"mlx-scales-missing", "mlx-override-unused"}));
  EXPECT_EQ(modules.findings[1].severity, Severity::note);
}

TEST_F(ModulesTest, OtherPeoplesScalesAreLeftAlone) {
  add("a.qweight", TensorType::I32, {2, 8});
  add("a.scales", TensorType::F16, {2, 2});
  add("b.weight", TensorType::F16, {2, 8});
  add("b.scales", TensorType::F16, {2, 2});
  const Modules awq = find(R"({"quantization_config": {"quant_method": "awq"}})");
  EXPECT_TRUE(awq.findings.empty());
  ASSERT_EQ(awq.list.size(), 1u);
  EXPECT_FALSE(awq.list[0].quantized);
  EXPECT_FALSE(find("{}").list[0].quantized);
}

TEST_F(ModulesTest, AMillionBrokenModulesGiveABoundedList) {
  std::deque<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back(fmt::format("m{}.weight", i));
  for (const std::string& name : names) add(name, TensorType::U32, {2, 8});
  EXPECT_EQ(find(four_bits).findings.size(), FindingLog::kept_per_code);
}

TEST_F(ModulesTest, OfADuplicateNameTheFirstCounts) {
  add_affine("a.weight", "a.scales", "a.biases");
  add("a.weight", TensorType::F16, {1});
  const Modules modules = find(four_bits);
  ASSERT_EQ(modules.list.size(), 1u);
  EXPECT_EQ(modules.list[0].weight, 0u);
}

constexpr std::string_view mxfp4_blocks = R"({"quantization_config": {"quant_method": "mxfp4"}})";

TEST_F(ModulesTest, BlocksOfHuggingFaceAreModules) {
  add("e.down_proj_blocks", TensorType::U8, {3, 5, 2, 16});
  add("e.down_proj_scales", TensorType::U8, {3, 5, 2});
  add("e.down_proj_bias", TensorType::BF16, {3, 5});
  add("norm.weight", TensorType::BF16, {64});
  const Modules modules = find(mxfp4_blocks);
  EXPECT_TRUE(modules.findings.empty());
  ASSERT_EQ(modules.list.size(), 2u);
  EXPECT_EQ(modules.list[0].path, "e.down_proj_blocks");
  EXPECT_TRUE(modules.list[0].decodable);
  EXPECT_EQ(modules.list[0].scales, 1u);
  EXPECT_EQ(modules.list[0].shape, (std::vector<u64>{3, 5, 64}));
  EXPECT_EQ(modules.list[0].params, default_params(Mode::mxfp4));
  EXPECT_FALSE(modules.list[1].quantized);
}

TEST_F(ModulesTest, BlocksThatDoNotFitAreFound) {
  add("a_blocks", TensorType::U8, {5, 2, 16});
  add("b_scales", TensorType::U8, {5, 2});
  add("c_blocks", TensorType::U8, {5, 2, 16});
  add("c_scales", TensorType::F16, {5, 2});
  add("d_blocks", TensorType::U8, {5, 2, 8});
  add("d_scales", TensorType::U8, {5, 2});
  add("e_blocks", TensorType::U8, {16});
  add("e_scales", TensorType::U8, {});
  const Modules modules = find(mxfp4_blocks);
  EXPECT_EQ(codes(modules), (Codes{"mlx-scales-missing", "mlx-weight-missing", "mlx-weight-type", "mlx-scales-shape",
                                   "mlx-scales-shape"}));
  for (const Module& module : modules.list) EXPECT_FALSE(module.decodable);
}

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
