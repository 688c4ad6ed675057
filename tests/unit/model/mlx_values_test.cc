// Compares every value of every model written by MLX bit for bit, by the SHA-256 of the float32 values that MLX itself
// decodes.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/hash.h"
#include "json/reader.h"
#include "model/model.h"
#include "support/temp_dir.h"
#include "tensor/types.h"

namespace modelutils {
namespace {

std::string hash_of_values(const Model& model, const Tensor& tensor) {
  std::vector<float> values(model.elements_of(tensor));
  const Status read = model.values_of(tensor).read_values(0, values);
  EXPECT_TRUE(read) << read.error().message;
  for (float& value : values) value += 0.0f;  // -0 becomes +0
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(values)));
  return hasher.hex_digest();
}

// Compares a model with its entry in expected.json; returns the number of tensors.
std::size_t check_model(const std::string& path, json::Element expected) {
  SCOPED_TRACE(path);
  const Result<Model> model = open_sound_model(path);
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return 0;
  EXPECT_EQ(model->format, Format::mlx);
  std::size_t tensors = 0;
  json::Object object;
  EXPECT_TRUE(expected.get(object));
  for (const auto [name, facts] : object) {
    SCOPED_TRACE(std::string(name));
    const Tensor* tensor = model->find(name);
    EXPECT_NE(tensor, nullptr);
    if (tensor == nullptr) continue;
    std::vector<u64> shape;
    const auto dims = json::array_member(facts, "shape");
    for (const json::Element dim : *dims) EXPECT_TRUE(dim.get(shape.emplace_back()));
    EXPECT_EQ(reversed(model->ne_of(*tensor)), shape);
    const std::string_view mode = *json::string_member(facts, "mode");
    const Weight* weight = model->weight_of(*tensor);
    EXPECT_EQ(weight != nullptr, mode != "none");
    if (weight != nullptr) {
      EXPECT_EQ(weight->form.kind, FormKind::mlx);
      EXPECT_EQ(mlx::mode_name(weight->form.params.mode), mode);
      EXPECT_EQ(weight->form.params.bits, json::u64_member(facts, "bits"));
      EXPECT_EQ(weight->form.params.group_size, json::u64_member(facts, "group_size"));
    }
    EXPECT_EQ(hash_of_values(*model, *tensor), json::string_member(facts, "sha256_f32"));
    ++tensors;
  }
  // The file has no other tensors except parts of these.
  for (const Tensor& tensor : model->catalog().tensors) {
    if (model->is_part(tensor)) continue;
    EXPECT_TRUE(json::member(expected, tensor.name)) << tensor.name;
  }
  return tensors;
}

std::size_t check_folder(const std::string& folder, std::size_t models) {
  const auto document = json::load(folder + "/expected.json");
  EXPECT_TRUE(document);
  json::Object object;
  EXPECT_TRUE((*document)->root.get(object));
  EXPECT_EQ(object.size(), models);
  std::size_t tensors = 0;
  for (const auto [name, expected] : object) tensors += check_model(folder + "/" + std::string(name), expected);
  return tensors;
}

TEST(MlxValues, OfOurOwnCopies) {
  EXPECT_EQ(check_folder(test::data_dir() + "/mlx", 2), 42u);
}

TEST(MlxValues, OfAllReferenceModels) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  EXPECT_EQ(check_folder(test::shared_dir() + "/corpus/mlx", 23), 456u);
}

}  // namespace
}  // namespace modelutils
