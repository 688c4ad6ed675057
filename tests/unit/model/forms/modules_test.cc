#include "model/forms/modules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>

#include "io/random_access_file.h"
#include "model/forms/foreign_forms.h"

namespace modelutils {

namespace {

class FormsTest : public ::testing::Test {
 protected:
  void add(std::string_view name, TensorType type, std::vector<u64> shape) {
    shapes_.push_back(std::move(shape));
    tensors_.push_back({name, type, shapes_.back()});
  }
  Modules find(std::string_view config) {
    const auto parsed = hf::parse_config(config, "config.json");
    EXPECT_TRUE(parsed);
    const mlx::Quantization quantization = mlx::read_quantization(*parsed);
    method_ = read_foreign_method(*parsed, quantization.foreign_method);
    return find_stored_modules(tensors_, quantization, method_);
  }
  // Codes of the findings, in order.
  std::string codes(std::string_view config) {
    std::string list;
    for (const Finding& finding : find(config).findings.findings()) list += finding.code + " " + finding.where + "\n";
    return list;
  }

  std::vector<mlx::TensorRef> tensors_;
  std::deque<std::vector<u64>> shapes_;
  ForeignMethod method_;
};

constexpr std::string_view modelopt = R"({"quantization_config": {"quant_method": "modelopt"}})";

TEST_F(FormsTest, FindsFp8WithOneScale) {
  add("p.weight_scale", TensorType::F32, {});
  add("p.weight", TensorType::F8_E4M3, {4, 8});
  add("norm.weight", TensorType::BF16, {8});
  add("q.weight", TensorType::F8_E4M3, {4, 8});
  add("q.weight_scale", TensorType::BF16, {1});
  const Modules modules = find(modelopt);
  EXPECT_TRUE(modules.findings.empty());
  ASSERT_EQ(modules.list.size(), 3u);
  const Module& p = modules.list[0];
  EXPECT_TRUE(p.quantized && p.decodable);
  EXPECT_EQ(p.form, fp8_form(TensorType::F32));
  EXPECT_EQ(p.weight(), 1u);
  EXPECT_EQ(p.planes[1], 0u);
  EXPECT_EQ(p.shape, (std::vector<u64>{4, 8}));
  EXPECT_FALSE(modules.list[1].quantized);
  EXPECT_EQ(modules.list[2].form, fp8_form(TensorType::BF16));
}

TEST_F(FormsTest, Fp8HasScalesOfRowsAndBlocks) {
  add("rows.weight", TensorType::F8_E4M3, {4, 8});
  add("rows.weight_scale", TensorType::F32, {4, 1});
  add("flat.weight", TensorType::F8_E4M3, {4, 8});
  add("flat.weight_scale", TensorType::BF16, {4});
  add("blocks.weight", TensorType::F8_E4M3, {130, 257});
  add("blocks.weight_scale_inv", TensorType::F32, {2, 3});
  add("bare.weight", TensorType::F8_E4M3, {4, 8});
  add("wrong.weight", TensorType::F8_E4M3, {130, 257});
  add("wrong.weight_scale_inv", TensorType::F32, {3, 3});
  add("wide.weight", TensorType::BF16, {4, 8});
  add("wide.weight_scale", TensorType::F32, {});
  const Modules modules = find(R"({"quantization_config": {"quant_method": "fp8"}})");
  EXPECT_EQ(modules.list[0].form, fp8_form(TensorType::F32, 1));
  EXPECT_EQ(modules.list[1].form, fp8_form(TensorType::BF16, 1));
  EXPECT_EQ(modules.list[2].form, fp8_form(TensorType::F32, 128, 128));
  EXPECT_FALSE(modules.list[3].decodable);
  EXPECT_FALSE(modules.list[4].decodable);
  EXPECT_FALSE(modules.list[5].quantized);
  ASSERT_EQ(modules.findings.size(), 3u);
  EXPECT_EQ(modules.findings[0].code, "hf-scale-missing");
  EXPECT_EQ(modules.findings[1].code, "hf-module-shape");
  EXPECT_EQ(modules.findings[2].code, "hf-scale-unused");
}

TEST_F(FormsTest, MethodsThatNobodyKnowsAreLeftAlone) {
  add("p.weight", TensorType::F8_E4M3, {4, 8});
  add("p.weight_scale", TensorType::F32, {});
  for (const Module& module : find(R"({"quantization_config": {"quant_method": "hqq"}})").list)
    EXPECT_FALSE(module.quantized);
  EXPECT_FALSE(method_.is_known);
  (void)find(R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "marlin-24"}})");
  EXPECT_FALSE(method_.refusal.empty());
}

// 64 columns and 8 rows of 4 bits in groups of 32.
TEST_F(FormsTest, TellsGptqFromAwqByTheShapes) {
  add("g.qweight", TensorType::I32, {8, 16});
  add("g.qzeros", TensorType::I32, {2, 2});
  add("g.scales", TensorType::F16, {2, 16});
  add("g.g_idx", TensorType::I32, {64});
  add("a.qweight", TensorType::I32, {64, 2});
  add("a.qzeros", TensorType::I32, {2, 2});
  add("a.scales", TensorType::F16, {2, 16});
  const Modules modules =
      find(R"({"quantization_config": {"quant_method": "auto-round", "bits": 4, "group_size": 32}})");
  EXPECT_TRUE(modules.findings.empty());
  ASSERT_EQ(modules.list.size(), 2u);
  for (const Module& module : modules.list) {
    ASSERT_TRUE(module.decodable);
    EXPECT_EQ(module.shape, (std::vector<u64>{16, 64}));
    EXPECT_EQ(module.form->integers.group, 32u);
  }
  EXPECT_EQ(modules.list[0].path, "g");
  EXPECT_TRUE(modules.list[0].form->integers.zeros_plus_one);
  EXPECT_TRUE(modules.list[1].form->integers.codes.is_shuffled);
}

// 128 columns in groups of 64: the same number of scales as GPTQ has for 16 rows.
TEST_F(FormsTest, TheConfigurationTellsGemvFromGptq) {
  add("a.qweight", TensorType::I32, {32, 16});
  add("a.qzeros", TensorType::I32, {32, 2});
  add("a.scales", TensorType::F16, {32, 16});
  const Modules gemv =
      find(R"({"quantization_config": {"quant_method": "awq", "version": "GEMV", "bits": 4, "group_size": 64}})");
  EXPECT_TRUE(gemv.findings.empty());
  ASSERT_TRUE(gemv.list[0].decodable);
  EXPECT_EQ(gemv.list[0].shape, (std::vector<u64>{32, 128}));
  EXPECT_EQ(gemv.list[0].form->integers.codes.kind, Gather::Kind::codes_in_rows);
  const Modules unstated = find(R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64}})");
  EXPECT_EQ(unstated.list[0].shape, gemv.list[0].shape);
  const Modules gptq = find(R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8}})");
  EXPECT_EQ(gptq.list[0].shape, (std::vector<u64>{16, 256}));
}

constexpr std::string_view fp8 = R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [32, 32]}})";

TEST_F(FormsTest, StackedExpertsOfFp8) {
  add("a.experts.gate_up_proj", TensorType::F8_E4M3, {4, 64, 96});
  add("a.experts.gate_up_proj_scale_inv", TensorType::F32, {4, 2, 3});
  add("b.experts.gate_up_proj", TensorType::F8_E4M3, {4, 16, 96});
  add("b.experts.gate_up_proj_scales_inv", TensorType::BF16, {4, 1, 3});
  add("c.experts.down_proj", TensorType::F8_E4M3, {4, 40, 96});
  add("c.experts.down_proj_scale", TensorType::F32, {4, 1, 1});
  add("d.experts.down_proj", TensorType::F8_E4M3, {4, 40, 96});
  add("d.experts.down_proj_scale", TensorType::F32, {4, 40, 1});
  EXPECT_EQ(
      codes(fp8),
      "hf-quant-contradiction module 'c.experts.down_proj'\nhf-quant-contradiction module 'd.experts.down_proj'\n");
  const Modules modules = find(R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups":
      {"g": {"weights": {"num_bits": 8, "block_structure": [32, 32]}}}}})");
  EXPECT_TRUE(modules.findings.empty());
  ASSERT_EQ(modules.list.size(), 4u);
  EXPECT_EQ(modules.list[0].path, "a.experts.gate_up_proj");
  EXPECT_EQ(modules.list[0].form, fp8_form(TensorType::F32, 32, 32));
  EXPECT_EQ(modules.list[1].form, fp8_form(TensorType::BF16, 16, 32)) << "a block ends with its expert";
  EXPECT_EQ(modules.list[2].form, fp8_form(TensorType::F32, 40));
  EXPECT_EQ(modules.list[3].form, fp8_form(TensorType::F32, 1));
}

TEST_F(FormsTest, StackedExpertsThatDoNotFit) {
  add("bare.experts.down_proj", TensorType::F8_E4M3, {4, 64, 96});
  add("partial.experts.down_proj", TensorType::F8_E4M3, {4, 40, 96});  // a block would span two experts
  add("partial.experts.down_proj_scale_inv", TensorType::F32, {4, 2, 3});
  add("two.experts.down_proj", TensorType::F8_E4M3, {4, 64, 96});
  add("two.experts.down_proj_scale_inv", TensorType::F32, {4, 2, 3});
  add("two.experts.down_proj_scale", TensorType::F32, {4, 1, 1});
  EXPECT_EQ(codes(fp8),
            "hf-scale-missing module 'bare.experts.down_proj'\nhf-module-shape module 'partial.experts.down_proj'\n"
            "hf-scale-unused module 'two.experts.down_proj'\n");
}

constexpr std::string_view blocks_as_text = R"({"quantization_config": {"quant_method": "compressed-tensors",
    "config_groups": {"g": {"weights": {"num_bits": 8, "strategy": "block", "block_structure": "64x32"}}}}})";

TEST_F(FormsTest, BlocksAsTextAndGroupsOfFp8) {
  add("p.weight", TensorType::F8_E4M3, {130, 96});
  add("p.weight_scale", TensorType::F32, {3, 3});
  EXPECT_EQ(find(blocks_as_text).list[0].form, fp8_form(TensorType::F32, 64, 32));
  constexpr std::string_view groups = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"g": {"weights": {"num_bits": 8, "strategy": "group", "group_size": 32}}}}})";
  add("q.weight", TensorType::F8_E4M3, {130, 96});
  add("q.weight_scale", TensorType::F32, {130, 3});
  EXPECT_EQ(find(groups).list[1].form, fp8_form(TensorType::F32, 1, 32));
}

TEST_F(FormsTest, Int8HasAScaleForEachRowOrOne) {
  constexpr std::string_view method = R"({"quantization_config": {"quant_method": "compressed-tensors"}})";
  add("rows.weight", TensorType::I8, {8, 32});
  add("rows.weight_scale", TensorType::BF16, {8, 1});
  add("one.weight", TensorType::I8, {8, 32});
  add("one.weight_scale", TensorType::BF16, {1});
  add("bare.weight", TensorType::I8, {8, 32});
  add("bare.weight_scale", TensorType::BF16, {});
  add("wrong.weight", TensorType::I8, {8, 32});
  add("wrong.weight_scale", TensorType::BF16, {2});
  const Modules modules = find(method);
  EXPECT_FALSE(modules.list[0].form->integers.has_one_scale);
  EXPECT_TRUE(modules.list[1].form->integers.has_one_scale);
  EXPECT_TRUE(modules.list[2].form->integers.has_one_scale);
  EXPECT_FALSE(modules.list[3].decodable);
  EXPECT_EQ(modules.findings.size(), 1u);
}

TEST_F(FormsTest, SaysWhatDoesNotFit) {
  constexpr std::string_view method = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"g": {"weights": {"num_bits": 4, "group_size": 32}},
                        "h": {"weights": {"num_bits": 4, "group_size": 16}}}}})";
  add("bare.weight_packed", TensorType::I32, {8, 8});
  add("zeros.weight_packed", TensorType::I32, {8, 8});
  add("zeros.weight_scale", TensorType::BF16, {8, 2});
  add("zeros.weight_zero_point", TensorType::I32, {8, 2});
  add("fp4.weight_packed", TensorType::U8, {8, 32});
  add("fp4.weight_scale", TensorType::F8_E4M3, {8, 4});
  add("awq.weight", TensorType::BF16, {8, 32});
  add("awq.pre_quant_scale", TensorType::BF16, {32});
  add("int8.weight", TensorType::I8, {8, 32});
  EXPECT_EQ(codes(method),
            "hf-scale-missing module 'bare'\nhf-module-shape module 'zeros'\nhf-scale-missing module 'fp4'\n"
            "hf-module-shape module 'awq'\nhf-scale-missing module 'int8'\n");
}

// DeepSeek V4's: the tensors alone determine the form, with and without settings for the other weights.
TEST_F(FormsTest, FourBitsWithExponents) {
  add("p.weight", TensorType::I8, {8, 32});
  add("p.scale", TensorType::F8_E8M0, {8, 2});
  add("q.weight", TensorType::I8, {8, 32});
  add("q.scale", TensorType::F8_E8M0, {8, 4});
  constexpr std::string_view blocks =
      R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})";
  for (const std::string_view config : {std::string_view("{}"), blocks}) {
    const Modules modules = find(config);
    ASSERT_EQ(modules.list.size(), 2u);
    EXPECT_TRUE(modules.list[0].decodable);
    EXPECT_EQ(modules.list[0].shape, (std::vector<u64>{8, 64}));
    ASSERT_TRUE(modules.list[0].form);
    EXPECT_EQ(modules.list[0].form->kind, FormKind::mlx);
    EXPECT_EQ(modules.list[0].form->params.mode, mlx::Mode::mxfp4);
    EXPECT_FALSE(modules.list[1].decodable);
    EXPECT_EQ(codes(config), "hf-module-shape module 'q'\n");
  }
}

TEST_F(FormsTest, BlocksWithExponentsAsScales) {
  add("p.weight", TensorType::F8_E4M3, {256, 128});
  add("p.scale", TensorType::F8_E8M0, {2, 1});
  const Modules modules = find(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
  ASSERT_EQ(modules.list.size(), 1u);
  EXPECT_TRUE(modules.list[0].decodable);
  ASSERT_TRUE(modules.list[0].form);
  EXPECT_EQ(*modules.list[0].form, fp8_form(TensorType::F8_E8M0, 128, 128));
}

// Settings that the tensors contradict; without the settings, the tensors alone determine the form.
TEST_F(FormsTest, SettingsThatTheTensorsRuleOut) {
  add("g.qweight", TensorType::I32, {8, 64});  // 64 rows, 64 columns of 4 bits, or 32 of 8
  add("g.qzeros", TensorType::I32, {2, 8});
  add("g.scales", TensorType::F16, {2, 64});
  const auto gptq = [](std::string_view more) {
    return R"({"quantization_config": {"quant_method": "gptq")" + std::string(more) + "}}";
  };
  constexpr std::string_view contradiction = "hf-quant-contradiction module 'g'\n";
  for (const char* right :
       {"", R"(, "bits": 4)", R"(, "bits": 4, "group_size": 32)", R"(, "bits": 8, "dynamic": {"+:g": {"bits": 4}})"}) {
    EXPECT_EQ(codes(gptq(right)), "") << right;
  }
  for (const char* wrong : {R"(, "bits": 8)", R"(, "bits": 3)", R"(, "bits": 2)", R"(, "group_size": 16)",
                            R"(, "group_size": 64)", R"(, "group_size": -1)"}) {
    EXPECT_EQ(codes(gptq(wrong)), contradiction) << wrong;
  }
  EXPECT_EQ(codes(R"({"quantization_config": {"quant_method": "awq"}})"), contradiction);
  EXPECT_EQ(codes(R"({"quantization_config": {"quant_method": "awq", "version": "gemm"}})"), contradiction);
}

// With eight rows, words of zero points match 2, 3 and 4 bits, so the settings or g_idx must decide.
TEST_F(FormsTest, FewRowsLeaveTheWidthOfGptqOpen) {
  add("g.qweight", TensorType::I32, {12, 8});
  add("g.qzeros", TensorType::I32, {1, 1});
  add("g.scales", TensorType::F16, {1, 8});
  EXPECT_EQ(find(R"({"quantization_config": {"quant_method": "gptq", "bits": 3}})").list[0].shape,
            (std::vector<u64>{8, 128}));
  EXPECT_EQ(find(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})").list[0].shape,
            (std::vector<u64>{8, 96}));
  add("g.g_idx", TensorType::I32, {128});
  EXPECT_EQ(find(R"({"quantization_config": {"quant_method": "gptq"}})").list[0].shape, (std::vector<u64>{8, 128}));
  EXPECT_EQ(codes(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})"),
            "hf-quant-contradiction module 'g'\n");
}

TEST_F(FormsTest, AsymmetricWeightsHaveZeroPoints) {
  add("p.weight_packed", TensorType::I32, {8, 8});
  add("p.weight_scale", TensorType::BF16, {8, 2});
  add("q.weight", TensorType::I8, {8, 32});
  add("q.weight_scale", TensorType::BF16, {8, 1});
  const auto config = [](std::string_view groups) {
    return R"({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {)" +
           std::string(groups) + "}}}";
  };
  const std::string sym4 = R"("a": {"weights": {"num_bits": 4, "group_size": 32, "symmetric": true}})";
  const std::string asym4 = R"("b": {"weights": {"num_bits": 4, "group_size": 32, "symmetric": false}})";
  const std::string asym8 = R"("c": {"weights": {"num_bits": 8, "strategy": "channel", "symmetric": false}})";
  EXPECT_EQ(codes(config(sym4)), "");
  EXPECT_EQ(codes(config(asym4)), "hf-quant-contradiction module 'p'\n");
  EXPECT_EQ(codes(config(asym4 + "," + sym4)), "") << "either may be the module's";
  EXPECT_EQ(codes(config(sym4 + "," + asym8)), "hf-quant-contradiction module 'q'\n");
}

class SettleTest : public FormsTest {
 protected:
  // Returns the only module, settled with `bytes` as the contents of tensor `number`.
  Result<Module> settle(std::string_view config, std::size_t number, std::vector<std::byte> bytes) {
    Modules modules = find(config);
    EXPECT_TRUE(modules.list.at(0).decodable);
    const MemoryFile file(std::move(bytes));
    const auto plane = [&](std::size_t tensor) {
      EXPECT_EQ(tensor, number);
      return StoredPlane{&file, 0};
    };
    MU_TRY(settle_foreign_form(tensors_, method_, plane, modules.list[0]));
    return modules.list[0];
  }
  template <typename T>
  static std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
    std::vector<std::byte> bytes(numbers.size() * sizeof(T));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }
};

TEST_F(SettleTest, ColumnsInAnotherOrder) {
  constexpr std::string_view method = R"({"quantization_config": {"quant_method": "gptq", "group_size": 8}})";
  add("g.qweight", TensorType::I32, {2, 8});
  add("g.qzeros", TensorType::I32, {2, 1});
  add("g.scales", TensorType::F16, {2, 8});
  add("g.g_idx", TensorType::I32, {16});
  std::vector<i32> order = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_FALSE(settle(method, 3, bytes_of(order))->form->integers.is_scattered);
  std::swap(order[0], order[15]);
  EXPECT_TRUE(settle(method, 3, bytes_of(order))->form->integers.is_scattered);
  for (const i32 wrong : {2, -2}) {
    order[3] = wrong;
    EXPECT_EQ(settle(method, 3, bytes_of(order)).error().code, "hf-module-values");
  }
}

TEST_F(SettleTest, SecondVersionUnderTheNameOfTheFirst) {
  constexpr std::string_view method =
      R"({"quantization_config": {"quant_method": "gptq", "sym": true, "group_size": 16}})";
  add("g.qweight", TensorType::I32, {2, 8});
  add("g.qzeros", TensorType::I32, {1, 1});
  add("g.scales", TensorType::F16, {1, 8});
  EXPECT_FALSE(settle(method, 1, bytes_of<u32>({0x88888888}))->form->integers.zeros_plus_one);
  EXPECT_TRUE(settle(method, 1, bytes_of<u32>({0x77777777}))->form->integers.zeros_plus_one);
}

TEST_F(SettleTest, SymmetricWeightsHaveTheirZeroPointsInTheMiddle) {
  constexpr std::string_view method = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"g": {"weights": {"num_bits": 4, "group_size": 16, "symmetric": true}}}}})";
  add("p.weight_packed", TensorType::I32, {8, 2});
  add("p.weight_scale", TensorType::BF16, {8, 1});
  add("p.weight_zero_point", TensorType::I32, {1, 1});
  EXPECT_TRUE(settle(method, 2, bytes_of<u32>({0x88888888})));
  EXPECT_EQ(settle(method, 2, bytes_of<u32>({0x88878888})).error().code, "hf-quant-contradiction");
}

TEST_F(SettleTest, StatedShapes) {
  constexpr std::string_view method = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"g": {"weights": {"num_bits": 4}}}}})";
  add("p.weight_packed", TensorType::I32, {8, 2});
  add("p.weight_scale", TensorType::BF16, {8, 1});
  add("p.weight_shape", TensorType::I64, {2});
  EXPECT_EQ(settle(method, 2, bytes_of<i64>({8, 13}))->shape, (std::vector<u64>{8, 13}));
  EXPECT_EQ(settle(method, 2, bytes_of<i64>({8, 17})).error().code, "hf-module-values");
  EXPECT_EQ(settle(method, 2, bytes_of<i64>({9, 13})).error().code, "hf-module-values");
}

// Ten codes of three bits per word, or a stream of 32-bit words: 11 rows take two words either way, 64 columns 7 or 6.
TEST_F(SettleTest, ZeroPointsArePackedAsTheCodesAre) {
  constexpr std::string_view method = R"({"quantization_config": {"quant_method": "compressed-tensors",
      "config_groups": {"g": {"weights": {"num_bits": 3, "group_size": 32}}}}})";
  struct Case {
    u64 rows, words, zero_words, codes_in_word;
  };
  for (const Case& one : {Case{11, 7, 2, 10}, Case{11, 6, 2, 0}, Case{64, 7, 7, 10}, Case{64, 6, 6, 0}}) {
    tensors_.clear();
    add("p.weight_packed", TensorType::I32, {one.rows, one.words});
    add("p.weight_scale", TensorType::BF16, {one.rows, 2});
    add("p.weight_zero_point", TensorType::I32, {one.zero_words, 2});
    add("p.weight_shape", TensorType::I64, {2});
    const auto settled = settle(method, 3, bytes_of<i64>({static_cast<i64>(one.rows), 64}));
    ASSERT_TRUE(settled);
    EXPECT_EQ(settled->form->integers.codes.codes_in_word, one.codes_in_word);
    EXPECT_EQ(settled->form->integers.zeros.codes_in_word, one.codes_in_word);
  }
  tensors_.clear();
  add("p.weight_packed", TensorType::I32, {64, 6});
  add("p.weight_scale", TensorType::BF16, {64, 2});
  add("p.weight_zero_point", TensorType::I32, {7, 2});
  add("p.weight_shape", TensorType::I64, {2});
  EXPECT_EQ(settle(method, 3, bytes_of<i64>({64, 64})).error().code, "hf-module-values");
}

TEST_F(SettleTest, FactorsArePositive) {
  add("p.weight", TensorType::U8, {8, 32});
  add("p.weight_scale", TensorType::F8_E4M3, {8, 4});
  add("p.weight_scale_2", TensorType::F32, {});
  EXPECT_TRUE(settle(modelopt, 2, bytes_of<float>({0.5f})));
  for (const float wrong : {0.0f, -1.0f, NAN, HUGE_VALF}) {
    EXPECT_EQ(settle(modelopt, 2, bytes_of<float>({wrong})).error().code, "hf-module-values");
  }
}

TEST_F(FormsTest, AScaleIsAFloat) {
  add("p.weight", TensorType::F8_E4M3, {4, 8});
  add("p.weight_scale", TensorType::I32, {});
  const Modules modules = find(modelopt);
  EXPECT_TRUE(modules.list[0].quantized);
  EXPECT_FALSE(modules.list[0].decodable);
  ASSERT_EQ(modules.findings.size(), 1u);
  EXPECT_EQ(modules.findings[0].code, "hf-scale-type");
}

TEST_F(FormsTest, MlxModulesHaveTheirPlanes) {
  add("p.biases", TensorType::BF16, {2, 2});
  add("p.weight", TensorType::U32, {2, 8});
  add("p.scales", TensorType::BF16, {2, 2});
  const Modules modules = find(R"({"quantization": {"group_size": 32, "bits": 4}})");
  ASSERT_EQ(modules.list.size(), 1u);
  EXPECT_EQ(modules.list[0].planes, (std::array<std::size_t, max_planes>{1, 2, 0, no_tensor, no_tensor}));
  EXPECT_EQ(modules.list[0].form,
            mlx_form({mlx::Mode::affine, 4, 32}, TensorType::U32, TensorType::BF16, TensorType::BF16));
}

TEST(ActivationScales, AreToldByTheirNames) {
  EXPECT_TRUE(is_activation_scale("model.layers.0.self_attn.k_proj.input_scale"));
  EXPECT_TRUE(is_activation_scale("model.layers.0.self_attn.k_proj.k_scale"));
  EXPECT_TRUE(is_activation_scale("model.layers.0.mlp.experts.gate_up_proj_activation_scale"));
  EXPECT_FALSE(is_activation_scale("model.layers.0.mlp.experts.gate_up_proj_scale"));
  EXPECT_FALSE(is_activation_scale("model.layers.0.self_attn.k_proj.weight_scale"));
  EXPECT_FALSE(is_activation_scale("model.layers.0.self_attn.q_norm.scale"));
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Two rows of three E4M3 elements, with one BF16 scale of 0.5.
TEST(MatrixValues, ReadsAnyRangeOfElements) {
  const MemoryFile file({std::byte{0x38}, std::byte{0x40}, std::byte{0x44}, std::byte{0x48}, std::byte{0x4A},
                         std::byte{0x4C}, std::byte{0x00}, std::byte{0x3F}},
                        "weights");
  StoredMatrix matrix;
  matrix.form = fp8_form(TensorType::BF16);
  matrix.elements = 6;
  matrix.columns = 3;
  matrix.planes[0] = {&file, 0};
  matrix.planes[1] = {&file, 6};
  const MatrixValues values(matrix, "w", "weights");
  const std::vector<float> all = {0.5f, 1, 1.5f, 2, 2.5f, 3};
  for (u64 first = 0; first < 6; ++first) {
    for (u64 count = 0; first + count <= 6; ++count) {
      std::vector<float> some(count);
      ASSERT_TRUE(values.read_values(first, some));
      EXPECT_EQ(some, std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                         all.begin() + static_cast<std::ptrdiff_t>(first + count)));
    }
  }
  std::vector<float> beyond(2);
  EXPECT_EQ(values.read_values(5, beyond).error().code, "internal");
}

TEST(MatrixValues, SaysWhatCannotBeDecoded) {
  const MemoryFile file(bytes_of("abcd"), "weights");
  StoredMatrix matrix;
  matrix.form = plain_form(TensorType::F32);
  matrix.form.big_endian = true;
  matrix.elements = 1;
  matrix.planes[0] = {&file, 0};
  std::vector<float> out(1);
  const auto big = MatrixValues(matrix, "w", "weights").read_values(0, out);
  EXPECT_EQ(big.error().code, "tensor-no-decoder");
  EXPECT_EQ(big.error().message, "values of a big-endian file cannot be decoded");
  matrix.form = opaque_form();
  const auto unknown = MatrixValues(matrix, "w", "weights").read_values(0, out);
  EXPECT_EQ(unknown.error().message, "values of type unknown cannot be decoded");
  EXPECT_EQ(unknown.error().file, "weights");
}

}  // namespace

}  // namespace modelutils
