#include "model/image_tensors.h"

#include <gtest/gtest.h>

#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

gguf::SplitSet set_of(const test::TempDir& folder, const GgufBuilder& builder) {
  return *gguf::open_set(folder.write("m.gguf", builder.build()));
}

std::string problem(const GgufBuilder& builder) {
  const test::TempDir folder;
  const gguf::SplitSet set = set_of(folder, builder);
  const std::vector<u64> ne = {256, 81};
  const gguf::SetFile& file = set.files.front();
  return stated_image_shape(file, file.document.keys.front(), ne).problem;
}

TEST(ImageTensors, ShapesThatKeysState) {
  const std::string key = std::string(arch::image_shape_key) + "w";
  EXPECT_EQ(problem(GgufBuilder().key_array<i32>(key, {256, 9, 3, 3})), "");
  EXPECT_EQ(problem(GgufBuilder().key_array<i32>(key, {256, 9, 9, 1, 1})), "");
  EXPECT_EQ(problem(GgufBuilder().key_array<u32>(key, {256, 81})), "is an array of u32, it must be an array of i32");
  EXPECT_EQ(problem(GgufBuilder().key_i32(key, 256)), "is i32, it must be an array of i32");
  EXPECT_EQ(problem(GgufBuilder().key_array<i32>(key, {})), "has 0 numbers, 1 to 5 are allowed");
  EXPECT_EQ(problem(GgufBuilder().key_array<i32>(key, {256, 81, 1, 1, 1, 1})), "has 6 numbers, 1 to 5 are allowed");
  EXPECT_EQ(problem(GgufBuilder().key_array<i32>(key, {-256, -81})), "contains -256, which is no size");
  EXPECT_EQ(problem(GgufBuilder().key_array<i32>(key, {256, 0})), "contains 0, which is no size");
  EXPECT_NE(problem(GgufBuilder().key_array<i32>(key, {256, 80})), "");
  const i32 most = 0x7FFFFFFF;
  EXPECT_NE(problem(GgufBuilder().key_array<i32>(key, {most, most, most})), "");
}

TEST(ImageTensors, NamesAndShapesOfThePublishedModel) {
  const test::TempDir folder;
  const gguf::SplitSet set =
      set_of(folder, GgufBuilder()
                         .key_array<i32>("comfy.gguf.orig_shape.model.diffusion_model.label_emb.0.0.weight", {4, 2, 2})
                         .key_array<u32>("comfy.gguf.orig_shape.model.diffusion_model.out.2.weight", {4, 2})
                         .f32_tensor("model.diffusion_model.label_emb.0.0.weight", {8, 2})
                         .f32_tensor("model.diffusion_model.out.2.weight", {8})
                         .f32_tensor("vae.x", {1}));
  const arch::ImageLayout layout = arch::image_layout(set);
  ASSERT_EQ(layout.model->name, "sdxl");
  const auto tensors = image_tensors(set, layout);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0]->name, "label_emb.0.0.weight");
  EXPECT_EQ(tensors[0]->ne, (std::vector<u64>{2, 2, 4}));
  EXPECT_EQ(tensors[1]->ne, (std::vector<u64>{8}));  // the key cannot be used
  EXPECT_FALSE(tensors[2]);
}

}  // namespace
}  // namespace modelutils
