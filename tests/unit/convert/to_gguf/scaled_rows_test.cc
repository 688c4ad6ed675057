// Rows with factors: each part has its own, and results are rounded to the source's type.
#include <gtest/gtest.h>

#include "arch/row_view.h"
#include "convert/to_gguf/forms.h"
#include "convert/to_gguf/rows.h"
#include "support/hf_directory.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

class Scaled : public ::testing::Test {
 protected:
  void open(test::HfDirectory directory) {
    directory.write(folder_.file(""));
    Result<std::unique_ptr<HfModel>> opened =
        understand_model(std::make_shared<const Model>(*open_safetensors_model(folder_.file(""))));
    ASSERT_TRUE(opened) << opened.error().message;
    model_ = std::move(*opened);
  }

  // The first three rows of "extra.weight" times 2, then its last row times 0.5.
  MappedTensor halves() const {
    MappedTensor made;
    made.is_scaled = true;
    for (std::size_t i = 0; i < model_->matrices.size(); ++i) {
      if (model_->matrices[i].name != "extra.weight") continue;
      made.unit = model_->matrices[i].columns();
      made.ne = {made.unit, 4};
      made.parts.push_back({i, *arch::resolve_view("r:4 -> r[0:3]", {}), arch::run_of_rows(0, 3, 4), {2.0f}});
      made.parts.push_back({i, *arch::resolve_view("r:4 -> r[3:4]", {}), arch::run_of_rows(3, 1, 4), {0.5f}});
    }
    return made;
  }

  std::vector<float> rows(const MappedTensor& of, u64 first, u64 count) const {
    StoredRows stored;
    EXPECT_TRUE(read_stored_rows(*model_, of, first, count, stored));
    std::vector<float> values(count * of.columns());
    decode_rows(*model_, of, stored, values);
    return values;
  }

  test::TempDir folder_;
  std::unique_ptr<HfModel> model_;
};

TEST_F(Scaled, EachPartHasItsFactor) {
  for (const TensorType type : {TensorType::F32, TensorType::BF16, TensorType::F16}) {
    test::HfDirectory directory = test::hf_directory("llama");
    directory.tensors["extra.weight"] = {{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, type};
    open(directory);
    EXPECT_EQ(rows(halves(), 0, 4), (std::vector<float>{2, 4, 6, 8, 10, 12, 3.5f, 4}));
    EXPECT_EQ(rows(halves(), 2, 2), (std::vector<float>{10, 12, 3.5f, 4}));
    EXPECT_EQ(rows(halves(), 3, 1), (std::vector<float>{3.5f, 4}));
  }
}

TEST_F(Scaled, RowsOfLengthOne) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = {{4, 2}, {3, 4, 0, 0, -6, 8, 0.5f, 0}, TensorType::F32};
  open(directory);
  MappedTensor tensor = halves();
  tensor.parts[0].factors = tensor.parts[1].factors = {};
  tensor.has_unit_rows = true;
  EXPECT_EQ(rows(tensor, 0, 4), (std::vector<float>{0.6f, 0.8f, 0, 0, -0.6f, 0.8f, 1, 0}));
  EXPECT_EQ(rows(tensor, 2, 1), (std::vector<float>{-0.6f, 0.8f}));
}

TEST_F(Scaled, AProductOfVectors) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = {{4}, {1, 2, 3, 4}, TensorType::BF16};
  directory.tensors["other.weight"] = {{1, 4}, {5, 0.5f, -1, 2}, TensorType::F32};
  open(directory);
  MappedTensor tensor;
  tensor.ne = {4};
  tensor.is_whole = tensor.must_be_f32 = tensor.is_product = true;
  for (const char* name : {"extra.weight", "other.weight"}) {
    for (std::size_t i = 0; i < model_->matrices.size(); ++i) {
      if (model_->matrices[i].name == name) {
        tensor.parts.push_back({i, arch::whole_view(4), arch::whole_view(4), {}});
      }
    }
  }
  ASSERT_EQ(tensor.parts.size(), 2u);
  const Result<std::vector<float>> values = read_whole(*model_, tensor);
  ASSERT_TRUE(values);
  EXPECT_EQ(*values, (std::vector<float>{5, 1, -3, 8}));
}

TEST_F(Scaled, ValuesAreRoundedToTheTypeOfTheSource) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = {{4, 1}, {1, 1, 1, 1}, TensorType::BF16};
  open(directory);
  MappedTensor tensor = halves();
  tensor.parts[0].factors = {1.001f};  // between 1 and 1 + 2^-7
  EXPECT_EQ(rows(tensor, 0, 1), (std::vector<float>{1}));
}

TEST_F(Scaled, QuantisedSourcesBecomeF32) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.config["quantization"] = R"({"group_size":64,"bits":4})";
  directory.tensors["extra.weight"] = {{4, 8}, std::vector<float>(32, static_cast<float>(0x210)), TensorType::U32};
  directory.tensors["extra.scales"] = {{4, 1}, {1, 1, 1, 1}, TensorType::F16};
  directory.tensors["extra.biases"] = {{4, 1}, {3, 3, 3, 3}, TensorType::F16};
  open(directory);
  const MappedTensor tensor = halves();
  EXPECT_EQ(values_type(model_->matrices[tensor.parts[0].source]), TensorType::F32);
  const std::vector<float> last_two = rows(tensor, 2, 2);
  ASSERT_EQ(last_two.size(), 128u);
  EXPECT_EQ((std::vector<float>(last_two.begin(), last_two.begin() + 4)), (std::vector<float>{6, 8, 10, 6}));
  EXPECT_EQ((std::vector<float>(last_two.begin() + 64, last_two.begin() + 68)),
            (std::vector<float>{1.5f, 2, 2.5f, 1.5f}));
}

}  // namespace
}  // namespace modelutils
