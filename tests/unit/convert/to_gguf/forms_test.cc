#include "convert/to_gguf/forms.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "arch/row_view.h"
#include "support/hf_directory.h"
#include "support/temp_dir.h"

namespace modelutils {

// Transposed tensors: the result of element views for plain, quantised and stacked sources.

namespace {

class Transposed : public ::testing::Test {
 protected:
  void open(test::HfDirectory directory) {
    directory.write(folder_.file(""));
    Result<std::unique_ptr<HfModel>> opened =
        understand_model(std::make_shared<const Model>(*open_safetensors_model(folder_.file(""))));
    ASSERT_TRUE(opened) << opened.error().message;
    model_ = std::move(*opened);
  }

  std::size_t index(std::string_view name) const {
    for (std::size_t i = 0; i < model_->matrices.size(); ++i) {
      if (model_->matrices[i].name == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  MappedTensor tensor(const std::vector<std::string>& names, const char* view, std::vector<u64> ne) const {
    MappedTensor made;
    made.name = "t";
    made.ne = std::move(ne);
    made.is_transposed = true;
    for (const std::string& name : names) {
      RecipePart part{index(name), *arch::resolve_view(view, {}), {}};
      part.to = arch::run_of_rows(made.parts.size() * part.units(), part.units(), made.units());
      made.parts.push_back(std::move(part));
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

test::HfTensor counting(std::vector<u64> shape, TensorType type) {
  test::HfTensor made{std::move(shape), {}, type};
  u64 elements = 1;
  for (const u64 dimension : made.shape) elements *= dimension;
  for (u64 i = 0; i < elements; ++i) made.values.push_back(static_cast<float>(i));
  return made;
}

TEST_F(Transposed, APartOfEachHead) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = counting({6, 4}, TensorType::BF16);  // two heads of 2 + 1 rows
  open(directory);
  const MappedTensor keys = tensor({"extra.weight"}, "h:2 s:3 c:4 -> h c s[0:2]", {2, 4, 2});
  const std::vector<float> all = {0, 4, 1, 5, 2, 6, 3, 7, 12, 16, 13, 17, 14, 18, 15, 19};
  EXPECT_EQ(rows(keys, 0, 8), all);
  // Any range of rows equals the same rows of the whole, whatever strips they come from.
  for (u64 first = 0; first < 8; ++first) {
    for (u64 count = 1; first + count <= 8; ++count) {
      EXPECT_EQ(rows(keys, first, count), std::vector<float>(all.begin() + static_cast<long>(2 * first),
                                                             all.begin() + static_cast<long>(2 * (first + count))));
    }
  }
  EXPECT_EQ(values_type(model_->matrices[keys.parts[0].source]), TensorType::BF16);
}

TEST_F(Transposed, StacksOfExperts) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["a.weight"] = counting({2, 3}, TensorType::F32);
  directory.tensors["b.weight"] = counting({2, 3}, TensorType::F32);
  for (float& value : directory.tensors["b.weight"].values) value += 10;
  open(directory);
  const MappedTensor stack = tensor({"a.weight", "b.weight"}, "r:2 c:3 -> c r", {2, 3, 2});
  EXPECT_EQ(rows(stack, 0, 6), (std::vector<float>{0, 3, 1, 4, 2, 5, 10, 13, 11, 14, 12, 15}));
  EXPECT_EQ(rows(stack, 2, 2), (std::vector<float>{2, 5, 10, 13}));
}

TEST_F(Transposed, OneHalfOfInterleavedColumns) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = counting({2, 6}, TensorType::F32);
  open(directory);
  const MappedTensor odd = tensor({"extra.weight"}, "r:2 c:3 t:2 -> c t=1 r", {2, 3});
  EXPECT_EQ(rows(odd, 0, 3), (std::vector<float>{1, 7, 3, 9, 5, 11}));
}

TEST_F(Transposed, ColumnsInAnotherOrder) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = counting({2, 8}, TensorType::F32);
  open(directory);
  const MappedTensor swapped = tensor({"extra.weight"}, "r:2 s:2 k:2 c:2 -> r k s c", {8, 2});
  EXPECT_EQ(rows(swapped, 0, 2), (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_EQ(rows(swapped, 1, 1), (std::vector<float>{8, 9, 12, 13, 10, 11, 14, 15}));
}

// Reorders single columns, as needed for quantised groups that are larger than the runs.
TEST_F(Transposed, SingleColumnsInAnotherOrder) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = counting({2, 6}, TensorType::F32);
  open(directory);
  const MappedTensor heads = tensor({"extra.weight"}, "e:2 k:2 r:3 -> e r k", {6, 2});
  EXPECT_EQ(rows(heads, 0, 2), (std::vector<float>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
  EXPECT_EQ(rows(heads, 1, 1), (std::vector<float>{6, 9, 7, 10, 8, 11}));
}

// Reorders runs of columns; rows of whole groups stay as stored.
TEST_F(Transposed, RowsInPieces) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.tensors["extra.weight"] = counting({3, 8}, TensorType::BF16);
  open(directory);
  MappedTensor pairs = tensor({"extra.weight"}, "e:3 k:2 r:2 d:2 -> e r k d", {8, 3});
  pairs.is_transposed = false;
  pairs.unit = 2;
  pairs.parts[0].from = *pairs.parts[0].from.of_runs(8);
  pairs.parts[0].to = arch::whole_view(12);
  EXPECT_EQ(row_granule(pairs), 1u);
  const std::vector<float> all = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 16, 17, 20, 21, 18, 19, 22, 23};
  EXPECT_EQ(rows(pairs, 0, 3), all);
  EXPECT_EQ(rows(pairs, 1, 2), std::vector<float>(all.begin() + 8, all.end()));
}

TEST_F(Transposed, QuantisedSourcesGiveTheirValues) {
  test::HfDirectory directory = test::hf_directory("llama");
  directory.config["quantization"] = R"({"group_size":64,"bits":4})";
  // 0x543210: in every eight columns the codes 0 to 5, then two zeros.
  directory.tensors["extra.weight"] = {{2, 8}, std::vector<float>(16, static_cast<float>(0x543210)), TensorType::U32};
  directory.tensors["extra.scales"] = {{2, 1}, {0.5f, 2.0f}, TensorType::F16};
  directory.tensors["extra.biases"] = {{2, 1}, {-1.0f, 3.0f}, TensorType::F16};
  open(directory);
  const MappedTensor columns = tensor({"extra.weight"}, "r:2 c:64 -> c r", {2, 64});
  EXPECT_EQ(values_type(model_->matrices[columns.parts[0].source]), TensorType::F32);
  EXPECT_EQ(rows(columns, 0, 6), (std::vector<float>{-1, 3, -0.5f, 5, 0, 7, 0.5f, 9, 1, 11, 1.5f, 13}));
  EXPECT_EQ(rows(columns, 60, 3), (std::vector<float>{1, 11, 1.5f, 13, -1, 3}));
}

}  // namespace

}  // namespace modelutils
