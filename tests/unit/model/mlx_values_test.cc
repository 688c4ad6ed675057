// Every value of every model that MLX wrote, bit for bit: the SHA-256 of the float32 values is compared with what MLX
// itself gave.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/hash.h"
#include "json/reader.h"
#include "model/model_view.h"
#include "support/temp_dir.h"
#include "tensor/shape.h"

namespace modelutils {
namespace {

std::string hash_of_values(const ModelView& view, const ViewTensor& tensor) {
  std::vector<float> values(tensor.elements);
  const Status read = view.read_values(tensor, 0, values);
  EXPECT_TRUE(read) << read.error().message;
  for (float& value : values) value += 0.0f;  // -0 becomes +0
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(values)));
  return hasher.hex_digest();
}

// Compares one model with its entry in expected.json; gives the number of tensors.
std::size_t check_model(const std::string& path, json::Element expected) {
  SCOPED_TRACE(path);
  const Result<ModelView> view = open_view(path);
  EXPECT_TRUE(view) << view.error().message;
  if (!view) return 0;
  EXPECT_EQ(view->format(), "mlx");
  std::size_t tensors = 0;
  json::Object object;
  EXPECT_TRUE(expected.get(object));
  for (const auto [name, facts] : object) {
    SCOPED_TRACE(std::string(name));
    const ViewTensor* tensor = view->find(name);
    EXPECT_NE(tensor, nullptr);
    if (tensor == nullptr) continue;
    std::vector<u64> shape;
    const auto dims = json::array_member(facts, "shape");
    for (const json::Element dim : *dims) EXPECT_TRUE(dim.get(shape.emplace_back()));
    EXPECT_EQ(reversed(tensor->ne), shape);
    const std::string_view mode = *json::string_member(facts, "mode");
    EXPECT_EQ(tensor->form.kind == FormKind::mlx, mode != "none");
    if (tensor->form.kind == FormKind::mlx) {
      EXPECT_EQ(mlx::mode_name(tensor->form.params.mode), mode);
      EXPECT_EQ(tensor->form.params.bits, json::u64_member(facts, "bits"));
      EXPECT_EQ(tensor->form.params.group_size, json::u64_member(facts, "group_size"));
    }
    EXPECT_EQ(hash_of_values(*view, *tensor), json::string_member(facts, "sha256_f32"));
    ++tensors;
  }
  // Nothing but parts of these is in the file besides.
  for (const ViewTensor& tensor : view->tensors()) {
    if (tensor.is_part) continue;
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
