// Cases that the C programs in tests/c_api cannot reach: generated files, changing files, threads, exceptions.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/os/files.h"
#include "c_api/handle.h"
#include "model/mlx/modules.h"
#include "support/gguf_builder.h"
#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

struct Closer {
  void operator()(mu_model* model) const { mu_close(model); }
};
using Model = std::unique_ptr<mu_model, Closer>;

Model open(const std::string& path) {
  mu_model* model = nullptr;
  EXPECT_EQ(mu_open(path.c_str(), &model), MU_OK) << mu_last_error_message();
  return Model(model);
}

u64 index_of(const Model& model, const char* key) {
  u64 index = 0;
  EXPECT_EQ(mu_metadata_find(model.get(), key, &index), MU_OK) << key;
  return index;
}

template <typename T>
std::vector<i64> integers(const Model& model, const char* key, const std::vector<T>& values) {
  std::vector<i64> out(values.size());
  EXPECT_EQ(mu_array_i64(model.get(), index_of(model, key), 0, out.size(), out.data()), MU_OK) << key;
  return out;
}

// Arrays of every element type, in either byte order.
class Arrays : public testing::TestWithParam<bool> {};

TEST_P(Arrays, OfEveryType) {
  const test::TempDir folder;
  const std::vector<i8> i8s{-128, 127};
  const std::vector<u8> u8s{0, 255};
  const std::vector<i16> i16s{-32768, 32767};
  const std::vector<u16> u16s{0, 65535};
  const std::vector<i32> i32s{INT32_MIN, INT32_MAX};
  const std::vector<u32> u32s{0, UINT32_MAX};
  const std::vector<i64> i64s{INT64_MIN, INT64_MAX};
  const std::vector<u64> u64s{0, UINT64_MAX};
  const std::vector<float> f32s{0.5f, -2.0f};
  const std::vector<double> f64s{0.1, 1e300};
  GgufBuilder builder;
  builder.big_endian(GetParam())
      .key_array("i8", i8s)
      .key_array("u8", u8s)
      .key_array("i16", i16s)
      .key_array("u16", u16s)
      .key_array("i32", i32s)
      .key_array("u32", u32s)
      .key_array("i64", i64s)
      .key_array("u64", u64s)
      .key_array("f32", f32s)
      .key_array("f64", f64s)
      .key_strings("text", {"a", std::string("b\0c", 3), ""})
      .key_u32("number", 7)
      .f32_tensor("t", {4});
  const Model model = open(folder.write("m.gguf", builder.build()));
  ASSERT_TRUE(model);
  EXPECT_EQ(integers(model, "i8", i8s), (std::vector<i64>{-128, 127}));
  EXPECT_EQ(integers(model, "u8", u8s), (std::vector<i64>{0, 255}));
  EXPECT_EQ(integers(model, "i16", i16s), (std::vector<i64>{-32768, 32767}));
  EXPECT_EQ(integers(model, "u16", u16s), (std::vector<i64>{0, 65535}));
  EXPECT_EQ(integers(model, "i32", i32s), (std::vector<i64>{INT32_MIN, INT32_MAX}));
  EXPECT_EQ(integers(model, "u32", u32s), (std::vector<i64>{0, UINT32_MAX}));
  EXPECT_EQ(integers(model, "i64", i64s), i64s);
  u64 naturals[2] = {1, 1};
  EXPECT_EQ(mu_array_u64(model.get(), index_of(model, "u64"), 0, 2, naturals), MU_OK);
  EXPECT_EQ(naturals[1], UINT64_MAX);
  i64 signed_numbers[2];
  EXPECT_EQ(mu_array_i64(model.get(), index_of(model, "u64"), 0, 2, signed_numbers), MU_ERROR_RANGE);
  EXPECT_EQ(mu_array_u64(model.get(), index_of(model, "i8"), 0, 2, naturals), MU_ERROR_RANGE);
  EXPECT_EQ(mu_array_u64(model.get(), index_of(model, "i8"), 1, 1, naturals), MU_OK);
  EXPECT_EQ(mu_array_u64(model.get(), index_of(model, "number"), 0, 1, naturals), MU_ERROR_TYPE);
  double doubles[2];
  float floats[2];
  EXPECT_EQ(mu_array_f64(model.get(), index_of(model, "f64"), 0, 2, doubles), MU_OK);
  EXPECT_EQ(doubles[0], 0.1);
  EXPECT_EQ(doubles[1], 1e300);
  EXPECT_EQ(mu_array_f32(model.get(), index_of(model, "f32"), 0, 2, floats), MU_OK);
  EXPECT_EQ(floats[1], -2.0f);
  const char* text = nullptr;
  u64 size = 0;
  EXPECT_EQ(mu_array_string(model.get(), index_of(model, "text"), 1, &text, &size), MU_OK);
  EXPECT_EQ(std::string(text, size + 1), std::string("b\0c\0", 4));
  EXPECT_EQ(mu_array_string(model.get(), index_of(model, "text"), 2, &text, &size), MU_OK);
  EXPECT_EQ(size, 0u);
  EXPECT_STREQ(text, "");

  float values[4];
  EXPECT_EQ(mu_tensor_dequantize(model.get(), 0, 0, 1, values, 4), GetParam() ? MU_ERROR_UNSUPPORTED : MU_OK);
}

INSTANTIATE_TEST_SUITE_P(ByteOrders, Arrays, testing::Bool());

TEST(CApi, ReadsArraysLongerThanAPiece) {
  const test::TempDir folder;
  std::vector<u32> numbers(100000);
  for (u32 i = 0; i < numbers.size(); ++i) numbers[i] = i * 7;
  const Model model = open(folder.write("m.gguf", GgufBuilder().key_array("n", numbers).build()));
  ASSERT_TRUE(model);
  std::vector<u64> out(99000);
  ASSERT_EQ(mu_array_u64(model.get(), 0, 900, out.size(), out.data()), MU_OK);
  for (u64 i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], (i + 900) * 7);
}

TEST(CApi, RoundsIntegersOnce) {
  const test::TempDir folder;
  // Just above the midpoint of two floats; the nearest double is the midpoint.
  const std::vector<i64> numbers{(i64{1} << 54) + (i64{1} << 30) + 1, -3};
  const Model model = open(folder.write("m.gguf", GgufBuilder().key_array("n", numbers).build()));
  ASSERT_TRUE(model);
  float out[2];
  ASSERT_EQ(mu_array_f32(model.get(), 0, 0, 2, out), MU_OK);
  EXPECT_EQ(out[0], 18014400656965632.0f);
  EXPECT_EQ(out[1], -3.0f);
}

TEST(CApi, KeepsArraysOfArraysAway) {
  const test::TempDir folder;
  GgufBuilder builder;
  std::string inner;
  builder.put<u32>(inner, 5);  // one array of two i32
  builder.put<u64>(inner, 2);
  builder.put<i32>(inner, 1);
  builder.put<i32>(inner, 2);
  const Model model = open(folder.write("m.gguf", builder.key_raw_array("nested", 9, 1, inner).build()));
  ASSERT_TRUE(model);
  mu_metadata info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(mu_metadata_info(model.get(), 0, &info), MU_OK);
  EXPECT_EQ(info.element_type, MU_VALUE_ARRAY);
  EXPECT_EQ(info.count, 1u);
  double number = 0;
  const char* text = nullptr;
  EXPECT_EQ(mu_array_f64(model.get(), 0, 0, 1, &number), MU_ERROR_TYPE);
  EXPECT_EQ(mu_array_string(model.get(), 0, 0, &text, nullptr), MU_ERROR_TYPE);
}

TEST(CApi, RefusesWhatTheDumpersRefuse) {
  const test::TempDir folder;
  mu_model* model = nullptr;
  const std::string twice = folder.write("m.gguf", GgufBuilder().key_u32("a", 1).key_u32("a", 2).build());
  EXPECT_EQ(mu_open(twice.c_str(), &model), MU_ERROR_INPUT);
  EXPECT_STREQ(mu_last_error_code(), "gguf-key-duplicate");
  const std::string removed =
      folder.write("n.gguf", GgufBuilder().tensor({.name = "x", .ne = {32}, .type = 4, .data = "x"}).build());
  EXPECT_EQ(mu_open(removed.c_str(), &model), MU_ERROR_INPUT);
  EXPECT_STREQ(mu_last_error_code(), "gguf-tensor-type");
  const std::string short_one =
      folder.write("m.safetensors",
                   test::SafetensorsBuilder().entry("a", "F32", "[4]", "[0,16]").data(std::string(8, '\0')).build());
  EXPECT_EQ(mu_open(short_one.c_str(), &model), MU_ERROR_INPUT);
  EXPECT_EQ(model, nullptr);
}

TEST(CApi, FiveDimensionsInVideoModelsOnly) {
  const test::TempDir folder;
  const auto with = [](std::string_view architecture) {
    return GgufBuilder()
        .key_string("general.architecture", architecture)
        .f32_tensor("patch_embedding.weight", {2, 2, 1, 3, 4})
        .build();
  };
  const Model model = open(folder.write("wan.gguf", with("wan")));
  ASSERT_TRUE(model);
  mu_tensor info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(mu_tensor_info(model.get(), 0, &info), MU_OK);
  EXPECT_EQ(std::vector<u64>(info.dims, info.dims + info.n_dims), (std::vector<u64>{2, 2, 1, 3, 4}));
  EXPECT_EQ(info.elements, 48u);
  EXPECT_EQ(info.rows, 24u);
  float values[2];
  ASSERT_EQ(mu_tensor_dequantize(model.get(), 0, 23, 1, values, 2), MU_OK);
  EXPECT_EQ(values[1], 47.0f);
  mu_model* refused = nullptr;
  EXPECT_EQ(mu_open(folder.write("llama.gguf", with("llama")).c_str(), &refused), MU_ERROR_INPUT);
  EXPECT_STREQ(mu_last_error_code(), "gguf-n-dims");
}

TEST(CApi, ShowsSafetensorsThroughTheSameCalls) {
  const test::TempDir folder;
  const Model model = open(folder.write("m.safetensors", test::SafetensorsBuilder()
                                                             .metadata("a", "1\\u0000\\u00e9")
                                                             .tensor("c", "C64", "[2]", std::string(16, '\0'))
                                                             .tensor("s", "F32", "[]", std::string("\0\0\x80?", 4))
                                                             .tensor("e", "F32", "[3,0]", "")
                                                             .tensor("u", "F4", "[2,2]", std::string("\x21\x43", 2))
                                                             .build()));
  ASSERT_TRUE(model);
  EXPECT_STREQ(mu_format(model.get()), "safetensors");
  EXPECT_STREQ(mu_architecture(model.get()), "");
  const char* text = nullptr;
  u64 size = 0;
  ASSERT_EQ(mu_get_string(model.get(), "a", &text, &size), MU_OK);
  EXPECT_EQ(std::string(text, size), std::string("1\0\xC3\xA9", 4));
  float values[4];
  EXPECT_EQ(mu_tensor_dequantize(model.get(), 0, 0, 1, values, 4), MU_ERROR_UNSUPPORTED);
  EXPECT_STREQ(mu_last_error_code(), "tensor-no-decoder");

  mu_tensor info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(mu_tensor_info(model.get(), 1, &info), MU_OK);
  EXPECT_EQ(info.n_dims, 0u);
  EXPECT_EQ(info.rows, 1u);
  ASSERT_EQ(mu_tensor_dequantize(model.get(), 1, 0, 1, values, 1), MU_OK);
  EXPECT_EQ(values[0], 1.0f);
  ASSERT_EQ(mu_tensor_info(model.get(), 2, &info), MU_OK);
  EXPECT_EQ(info.rows, 0u);
  EXPECT_EQ(info.elements, 0u);
  const void* data = nullptr;
  EXPECT_EQ(mu_tensor_data(model.get(), 2, &data, &size), MU_OK);
  EXPECT_NE(data, nullptr);
  EXPECT_EQ(size, 0u);
}

TEST(CApi, AFileThatShrinksIsAnErrorOfEveryCopyingCall) {
  const test::TempDir folder;
  const std::string path = folder.write("m.gguf", GgufBuilder().f32_tensor("t", {64, 64}).build());
  const Model model = open(path);
  ASSERT_TRUE(model);
  std::filesystem::resize_file(path, 300);
  std::vector<float> values(4096);
  EXPECT_EQ(mu_tensor_read(model.get(), 0, 0, values.data(), 16384), MU_ERROR_INPUT);
  EXPECT_STREQ(mu_last_error_code(), "io-shrunk");
  EXPECT_STREQ(mu_last_error_file(), path.c_str());
  EXPECT_EQ(mu_tensor_dequantize(model.get(), 0, 0, 64, values.data(), values.size()), MU_ERROR_INPUT);
  const void* data = nullptr;
  EXPECT_EQ(mu_tensor_data(model.get(), 0, &data, nullptr), MU_ERROR_INPUT);
  EXPECT_EQ(data, nullptr);
}

TEST(CApi, AFileThatIsReplacedStaysTheOldOne) {
  const test::TempDir folder;
  const std::string path = folder.write("m.gguf", GgufBuilder().f32_tensor("t", {4}).build());
  const Model model = open(path);
  ASSERT_TRUE(model);
  ASSERT_TRUE(os::rename(folder.write("new", "something else"), path));
  const void* data = nullptr;
  ASSERT_EQ(mu_tensor_data(model.get(), 0, &data, nullptr), MU_OK);
  float values[4];
  std::memcpy(values, data, sizeof values);
  EXPECT_EQ(values[3], 3.0f);
}

TEST(CApi, ADashIsAFileName) {
  const test::TempDir folder;
  folder.write("-", GgufBuilder().f32_tensor("t", {4}).build());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const Model model = open("-");
  std::filesystem::current_path(before);
  ASSERT_TRUE(model);
  EXPECT_EQ(mu_tensor_count(model.get()), 1u);
}

TEST(CApi, ThreadsShareAModel) {
  const Model model = open(test::data_dir() + "/gguf/small.gguf");
  ASSERT_TRUE(model);
  const u64 tokens = index_of(model, "tokenizer.ggml.tokens");
  std::vector<int> wrong(8);
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < wrong.size(); ++id) {
    threads.emplace_back([&, id] {
      const std::string nothing = "nothing-" + std::to_string(id);
      for (int round = 0; round < 50; ++round) {
        const char* text = nullptr;
        const void* data = nullptr;
        u64 index = 0;
        float row[32];
        wrong[id] += mu_array_string(model.get(), tokens, 2, &text, nullptr) != MU_OK || std::string(text) != "</s>";
        wrong[id] += mu_tensor_data(model.get(), 0, &data, nullptr) != MU_OK;
        wrong[id] += mu_tensor_dequantize(model.get(), 2, 5, 1, row, 32) != MU_OK;
        // Each thread has a separate last error.
        wrong[id] += mu_tensor_find(model.get(), nothing.c_str(), &index) != MU_ERROR_NOT_FOUND;
        wrong[id] += std::string(mu_last_error_message()).find("'" + nothing + "'") == std::string::npos;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8));
}

TEST(CApi, PacksSeveralWeightsRowWise) {
  const test::TempDir folder;
  // Two modules of 2 × 64, 4 bits, groups of 32, with BF16 scales, one of which is too large for F16.
  const std::string codes_a(64, '\x12'), codes_b(64, '\x34');
  const std::string scales_a("\x00\x3F\x80\x3F\x00\x3F\x80\x3F", 8), scales_b("\x00\x7E\x80\x3F\x00\x3F\x80\x3F", 8);
  folder.write("config.json", R"({"model_type":"llama","quantization":{"bits":4,"group_size":32}})");
  folder.write("model.safetensors", test::SafetensorsBuilder()
                                        .tensor("a.weight", "U32", "[2,8]", codes_a)
                                        .tensor("a.scales", "BF16", "[2,2]", scales_a)
                                        .tensor("a.biases", "BF16", "[2,2]", scales_b)
                                        .tensor("b.weight", "U32", "[2,8]", codes_b)
                                        .tensor("b.scales", "BF16", "[2,2]", scales_b)
                                        .tensor("b.biases", "BF16", "[2,2]", scales_a)
                                        .tensor("c.weight", "U32", "[2,8]", codes_b)
                                        .tensor("c.scales", "BF16", "[2,2]", scales_b)
                                        .tensor("c.biases", "F16", "[2,2]", scales_a)
                                        .build());
  const Model model = open(folder.path());
  ASSERT_TRUE(model);
  u64 weights[3];
  ASSERT_EQ(mu_tensor_find(model.get(), "b.weight", &weights[0]), MU_OK);
  ASSERT_EQ(mu_tensor_find(model.get(), "a.weight", &weights[1]), MU_OK);
  weights[2] = weights[0];
  for (const bool narrow : {false, true}) {
    std::string expected =
        codes_b + codes_a + codes_b + scales_b + scales_a + scales_b + scales_a + scales_b + scales_a;
    const std::span behind_codes = std::span(expected).subspan(3 * codes_a.size());
    const u64 changed = narrow ? mlx::bf16_to_f16_in_place(std::as_writable_bytes(behind_codes)) : 0;
    std::string out(expected.size(), '\0');
    u64 inexact = 0;
    ASSERT_EQ(mu_pack(model.get(), weights, 3, narrow ? MU_PACK_BF16_TO_F16 : 0, out.data(), out.size(), &inexact),
              MU_OK);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(inexact, changed);
    EXPECT_EQ(inexact, narrow ? 3u : 0u);
  }
  // Scales and biases of different types cannot share a layout.
  mu_packed layout{};
  layout.struct_size = sizeof layout;
  ASSERT_EQ(mu_tensor_find(model.get(), "c.weight", &weights[0]), MU_OK);
  EXPECT_EQ(mu_pack_layout(model.get(), weights, 1, 0, &layout), MU_ERROR_ARGUMENT);
  EXPECT_STREQ(mu_last_error_code(), "mlx-pack-mismatch");
  ASSERT_EQ(mu_tensor_find(model.get(), "a.weight", &weights[0]), MU_OK);
  std::byte small;
  EXPECT_EQ(mu_pack(model.get(), weights, 1, 0, &small, 1, nullptr), MU_ERROR_BUFFER);
  EXPECT_STREQ(mu_last_error_code(), "api-buffer");
}

TEST(CApi, EveryMisuseHasItsCode) {
  const test::TempDir folder;
  const Model model = open(folder.write("m.gguf", GgufBuilder().key_string("text", "x").f32_tensor("t", {4}).build()));
  ASSERT_TRUE(model);
  u64 number = 0;
  EXPECT_EQ(mu_get_u64(nullptr, "text", &number), MU_ERROR_ARGUMENT);
  EXPECT_STREQ(mu_last_error_code(), "api-argument");
  EXPECT_EQ(mu_get_u64(model.get(), "none", &number), MU_ERROR_NOT_FOUND);
  EXPECT_STREQ(mu_last_error_code(), "api-not-found");
  EXPECT_EQ(mu_get_u64(model.get(), "text", &number), MU_ERROR_TYPE);
  EXPECT_STREQ(mu_last_error_code(), "api-type");
  mu_tensor info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(mu_tensor_info(model.get(), 1, &info), MU_ERROR_RANGE);
  EXPECT_STREQ(mu_last_error_code(), "api-range");
}

TEST(CApi, NoExceptionCrosses) {
  using c_api::guarded;
  EXPECT_EQ(guarded([]() -> Status { throw std::bad_alloc(); }), MU_ERROR_MEMORY);
  EXPECT_STREQ(mu_last_error_code(), "api-memory");
  EXPECT_EQ(guarded([]() -> Status { throw std::length_error("long"); }), MU_ERROR_MEMORY);
  EXPECT_EQ(guarded([]() -> Status { throw std::runtime_error("odd \x1b"); }), MU_ERROR_INTERNAL);
  EXPECT_STREQ(mu_last_error_message(), "odd \\u{1b}");
  EXPECT_EQ(guarded([]() -> Status { throw 1; }), MU_ERROR_INTERNAL);
  EXPECT_EQ(guarded([]() -> Status { return {}; }), MU_OK);
}

}  // namespace
}  // namespace modelutils
