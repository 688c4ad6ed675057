#include "forms/modules.h"

#include <gtest/gtest.h>

#include <deque>

#include "forms/foreign_forms.h"

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
    return find_stored_modules(tensors_, mlx::read_quantization(*parsed));
  }

  std::vector<mlx::TensorRef> tensors_;
  std::deque<std::vector<u64>> shapes_;
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

TEST_F(FormsTest, LeavesAloneWhatIsNotOfTheForm) {
  add("rows.weight", TensorType::F8_E4M3, {4, 8});
  add("rows.weight_scale", TensorType::F32, {4, 1});
  add("bare.weight", TensorType::F8_E4M3, {4, 8});
  add("wide.weight", TensorType::BF16, {4, 8});
  add("wide.weight_scale", TensorType::F32, {});
  for (const Module& module : find(modelopt).list) EXPECT_FALSE(module.quantized) << module.path;
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
  EXPECT_EQ(modules.list[0].planes, (std::array<std::size_t, max_planes>{1, 2, 0, no_tensor}));
  EXPECT_EQ(modules.list[0].form,
            mlx_form({mlx::Mode::affine, 4, 32}, TensorType::U32, TensorType::BF16, TensorType::BF16));
}

TEST(ActivationScales, AreToldByTheirNames) {
  EXPECT_TRUE(is_activation_scale("model.layers.0.self_attn.k_proj.input_scale"));
  EXPECT_TRUE(is_activation_scale("model.layers.0.self_attn.k_proj.k_scale"));
  EXPECT_FALSE(is_activation_scale("model.layers.0.self_attn.k_proj.weight_scale"));
  EXPECT_FALSE(is_activation_scale("model.layers.0.self_attn.q_norm.scale"));
}

}  // namespace
}  // namespace modelutils
