#include "model/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/catalog.h"
#include "model/safetensors_model.h"
#include "support/safetensors_text.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::safetensors_bytes;

const std::string small_model = test::data_dir() + "/mlx/h96_bf16_4b_g32";

TEST(Model, FindsTensorsByAnyOfTheirNames) {
  const auto model = open_sound_model(small_model);
  ASSERT_TRUE(model) << model.error().message;
  const Tensor* q = model->find("model.layers.1.self_attn.q_proj.weight");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(model->find("blk.1.attn_q.weight"), q);
  EXPECT_EQ(model->gguf_name(*q), "blk.1.attn_q.weight");
  EXPECT_EQ(model->find("token_embd.weight"), model->find("model.embed_tokens.weight"));
  EXPECT_EQ(model->find("blk.2.attn_q.weight"), nullptr);
  EXPECT_EQ(model->find(""), nullptr);
  EXPECT_EQ(model->type_text(*q), "affine 4-bit, group 32");
  EXPECT_TRUE(std::ranges::equal(model->ne_of(*q), std::vector<u64>{96, 96}));
  EXPECT_TRUE(std::ranges::equal(q->ne, std::vector<u64>{96 / 8, 96}));
  const Tensor* scales = model->find("model.layers.1.self_attn.q_proj.scales");
  ASSERT_NE(scales, nullptr);
  EXPECT_TRUE(model->is_part(*scales));
  EXPECT_FALSE(model->gguf_name(*scales));
  EXPECT_EQ(model->type_text(*scales), "BF16");
}

TEST(Model, SaysWhatTheModelIs) {
  const auto model = open_sound_model(small_model);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->architecture(), "LlamaForCausalLM");
  ASSERT_NE(model->config(), nullptr);
  EXPECT_TRUE(model->safetensors);
  EXPECT_FALSE(model->gguf);
  EXPECT_EQ(model->catalog().tensors.size(), model->safetensors->set.tensors.size());
}

TEST(Model, ReadsAnyRangeOfValues) {
  const auto model = open_sound_model(small_model);
  ASSERT_TRUE(model);
  for (const char* name : {"model.embed_tokens.weight", "model.norm.weight"}) {
    const Tensor* tensor = model->find(name);
    ASSERT_NE(tensor, nullptr);
    const MatrixValues values = model->values_of(*tensor);
    const u64 elements = model->elements_of(*tensor);
    std::vector<float> all(elements);
    ASSERT_TRUE(values.read_values(0, all));
    for (const auto& [first, count] : {std::pair<u64, u64>{0, 1}, {31, 3}, {95, 1}, {7, 80}, {elements, 0}}) {
      if (first + count > elements) continue;
      std::vector<float> part(count);
      ASSERT_TRUE(values.read_values(first, part));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
    }
    std::vector<float> beyond(2);
    EXPECT_FALSE(values.read_values(elements - 1, beyond));
    EXPECT_FALSE(values.read_values(~u64{0}, beyond));
  }
}

TEST(Model, ReadsBlockTypesAtOddAddresses) {
  const test::TempDir folder;
  // One byte followed by floats and halves, so nothing is aligned.
  std::string data("\x01", 1);
  for (const float value : {1.5f, -2.0f, 3.25f}) data.append(reinterpret_cast<const char*>(&value), 4);
  data += std::string("\x00\x3C\x00\xC0", 4);
  const std::string path =
      folder.write("m.safetensors", safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
        "b":{"dtype":"F32","shape":[3],"data_offsets":[1,13]},"c":{"dtype":"F16","shape":[1,2],"data_offsets":[13,17]}})",
                                                      data));
  const auto model = open_sound_model(path);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->format, Format::safetensors);
  std::vector<float> values(3);
  ASSERT_TRUE(model->values_of(*model->find("b")).read_values(0, values));
  EXPECT_EQ(values, (std::vector<float>{1.5f, -2.0f, 3.25f}));
  values.resize(1);
  ASSERT_TRUE(model->values_of(*model->find("c")).read_values(1, values));
  EXPECT_EQ(values[0], -2.0f);
}

TEST(Model, WrappedNamesLoseTheirWrapper) {
  const test::TempDir folder;
  folder.write("config.json", R"({"model_type": "llama"})");
  folder.write(
      "model.safetensors",
      safetensors_bytes(R"({"language_model.model.norm.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                        std::string(4, '\0')));
  const auto model = open_sound_model(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_NE(model->find("model.norm.weight"), nullptr);
  EXPECT_EQ(model->find("model.norm.weight"), model->find("output_norm.weight"));
  EXPECT_EQ(model->find("model.norm.weight"), model->find("language_model.model.norm.weight"));
}

TEST(OpenModel, RefusesWhatIsBroken) {
  const test::TempDir folder;
  EXPECT_EQ(open_sound_model(folder.file("nothing")).error().code, "io-open");
  const std::string hole = folder.write(
      "hole.safetensors",
      safetensors_bytes(
          R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
          std::string(8, '\0')));
  EXPECT_FALSE(open_sound_model(hole));
  folder.write("d/model.safetensors", safetensors_bytes("{}", ""));
  folder.write("d/config.json", "{");
  EXPECT_EQ(open_sound_model(folder.file("d")).error().code, "json-syntax");
}

u64 parameters_of(const SafetensorsModel& model) {
  const std::vector<u64> each = parameters_of_tensors(model);
  return std::accumulate(each.begin(), each.end(), u64{0});
}

TEST(SafetensorsModel, CountsLogicalParameters) {
  const auto model = open_safetensors_model(small_model);
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->is_model_directory());
  const auto opened = open_sound_model(small_model);
  ASSERT_TRUE(opened);
  u64 sum = 0;
  for (const Tensor& tensor : opened->catalog().tensors)
    sum += opened->is_part(tensor) ? 0 : opened->elements_of(tensor);
  EXPECT_EQ(parameters_of(*model), sum);
  // Opening only the file finds the config next to it.
  const auto file = open_safetensors_model(std::string(small_model) + "/model.safetensors");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->is_model_directory());
  EXPECT_EQ(parameters_of(*file), parameters_of(*model));
}

TEST(SafetensorsModel, ABrokenConfigIsNoErrorHere) {
  const test::TempDir folder;
  folder.write(
      "model.safetensors",
      safetensors_bytes(R"({"a.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string(4, '\0')));
  folder.write("config.json", "[1]");
  const auto model = open_safetensors_model(folder.path());
  ASSERT_TRUE(model);
  ASSERT_TRUE(model->config_error);
  EXPECT_EQ(model->config_error->code, "hf-config-not-object");
  EXPECT_FALSE(model->has_modules);
  EXPECT_EQ(parameters_of(*model), 1u);
}

TEST(Statistics, AreTheSameInPieces) {
  const std::vector<float> values{1, -2, 0, 4, NAN, INFINITY, -INFINITY, -0.0f, 7.5f};
  Statistics whole;
  add_values(whole, values);
  EXPECT_EQ(whole.count, 9u);
  EXPECT_EQ(whole.zeros, 2u);
  EXPECT_EQ(whole.nans, 1u);
  EXPECT_EQ(whole.infs, 2u);
  EXPECT_EQ(whole.min, -2);
  EXPECT_EQ(whole.max, 7.5);
  EXPECT_NEAR(whole.mean, 10.5 / 6, 1e-12);
  EXPECT_NEAR(whole.deviation, std::sqrt((1 + 4 + 16 + 56.25) / 6 - 1.75 * 1.75), 1e-12);
  Statistics pieces;
  for (const float value : values) add_values(pieces, {&value, 1});
  EXPECT_EQ(pieces.count, whole.count);
  EXPECT_EQ(pieces.min, whole.min);
  EXPECT_EQ(pieces.max, whole.max);
  EXPECT_NEAR(pieces.mean, whole.mean, 1e-12);
  EXPECT_NEAR(pieces.deviation, whole.deviation, 1e-12);
  Statistics none;
  add_values(none, {});
  EXPECT_EQ(none.count, 0u);
}

}  // namespace
}  // namespace modelutils
