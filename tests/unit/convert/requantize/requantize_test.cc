#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "convert/requantize/quantize_model.h"
#include "convert/requantize/tensor_error.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/split_set.h"
#include "formats/gguf/write.h"
#include "formats/imatrix/importance.h"
#include "io/random_access_file.h"
#include "model/catalog.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"
#include "unit/tensor/quantize/reference_inputs.h"

namespace modelutils::requantize {
namespace {

struct Given {
  std::string name;
  std::vector<u64> ne;
  std::vector<float> values;
};

void append(std::string& out, const void* data, std::size_t size) {
  out.append(static_cast<const char*>(data), size);
}

// Writes a GGUF of F32 tensors.
void write_model(const std::string& path, const std::vector<gguf::OutKey>& keys, const std::vector<Given>& tensors) {
  std::vector<gguf::OutTensor> out;
  for (const Given& tensor : tensors) out.push_back({tensor.name, TensorType::F32, tensor.ne});
  const auto layout = gguf::layout(keys, out);
  ASSERT_TRUE(layout);
  std::string bytes = layout->header;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    bytes.resize(layout->offsets[i]);
    append(bytes, tensors[i].values.data(), 4 * tensors[i].values.size());
  }
  bytes.resize(layout->file_size);
  std::ofstream(path, std::ios::binary) << bytes;
}

std::vector<gguf::OutKey> llama_keys(u32 layers = 2) {
  return {gguf::make_key_string("general.architecture", "llama"), gguf::make_key("llama.block_count", layers),
          gguf::make_key("general.file_type", 0), gguf::make_key("llama.attention.head_count", 4)};
}

Given matrix(std::string name, u64 ne0, u64 rows, u64 seed) {
  return {std::move(name), {ne0, rows}, test::reference_values("bell", seed, rows, ne0)};
}

class Requantize : public ::testing::Test {
 protected:
  void SetUp() override {
    write_model(model_, llama_keys(),
                {matrix("output.weight", 256, 40, 1),
                 matrix("blk.1.ffn_up.weight", 256, 40, 2),
                 matrix("blk.0.ffn_up.weight", 256, 40, 3),
                 {"output_norm.weight", {8}, std::vector<float>(8, 1.0f)}});
  }

  Result<QuantizeReport> run(QuantizeRequest request) {
    request.input = model_;
    request.output = output_;
    request.force = true;
    Progress progress;
    return quantize_model(request, progress);
  }

  test::TempDir folder_;
  std::string model_ = folder_.path() + "/model.gguf";
  std::string output_ = folder_.path() + "/out.gguf";
};

TEST_F(Requantize, OrderKeysAndTypes) {
  const auto report = run({.mix = quantize::mix_from_name("Q4_K_M")});
  ASSERT_TRUE(report) << report.error().message;
  const auto set = gguf::open_set(output_);
  ASSERT_TRUE(set);
  const gguf::Document& document = set->files.front().document;
  std::vector<std::string> names;
  for (const gguf::TensorInfo& info : document.tensors) {
    names.push_back(info.name + ' ' + std::string(type_name(*info.type())));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"output.weight Q6_K", "output_norm.weight F32", "blk.0.ffn_up.weight Q4_K",
                                             "blk.1.ffn_up.weight Q4_K"}));
  EXPECT_EQ(document.keys.back().key, "general.file_type");
  EXPECT_EQ(gguf::Index(document).unsigned_value("general.file_type"), 15u);
  EXPECT_EQ(gguf::Index(document).unsigned_value("general.quantization_version"), 2u);
}

// The number of threads affects neither bytes nor sums.
TEST_F(Requantize, ThreadsChangeNothing) {
  const auto bytes = [&] {
    std::ifstream in(output_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto one = run({.mix = quantize::mix_from_name("Q5_K_M"), .threads = 1});
  const std::string first = bytes();
  const auto four = run({.mix = quantize::mix_from_name("Q5_K_M"), .threads = 4});
  ASSERT_TRUE(one && four);
  EXPECT_EQ(first, bytes());
  for (std::size_t i = 0; i < one->tensors.size(); ++i) {
    EXPECT_EQ(one->tensors[i].error.plain.dd, four->tensors[i].error.plain.dd);
  }
}

TEST_F(Requantize, WhatHasTheTypeIsCopied) {
  const auto first = run({.mix = quantize::mix_from_name("Q8_0")});
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->tensors[0].copied);
  std::filesystem::rename(output_, model_);
  const auto again = run({.mix = quantize::mix_from_name("Q8_0")});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->tensors[0].copied);
  // A lower precision warns; --keep-exact keeps the original.
  std::filesystem::rename(output_, model_);
  const auto wider = run({.mix = quantize::mix_from_name("F16")});
  ASSERT_TRUE(wider);
  ASSERT_FALSE(wider->remarks.findings().empty());
  EXPECT_EQ(wider->remarks.findings().front().code, "quantize-gains-nothing");
  const auto kept = run({.mix = quantize::mix_from_name("F16"), .keep_exact = true});
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->tensors[0].type, TensorType::Q8_0);
  EXPECT_TRUE(kept->remarks.findings().empty());
}

TEST_F(Requantize, Refusals) {
  const auto code = [](const auto& result) { return result ? std::string() : result.error().code; };
  EXPECT_EQ(code(run({.mix = quantize::mix_from_name("Q8_0"), .exact = true})), "quantize-inexact");
  EXPECT_EQ(code(run({.mix = quantize::mix_from_name("IQ2_XXS")})), "quantize-needs-importance");
  EXPECT_EQ(code(run({.mix = quantize::mix_from_name("Q8_0"), .overrides = {{"nothing.*", TensorType::Q4_0}}})),
            "glob-no-match");
  EXPECT_EQ(code(run({.max_size = 1000})), "quantize-max-size");
  EXPECT_FALSE(std::filesystem::exists(output_));
  write_model(model_, llama_keys(), {{"output.weight", {256, 1, 2}, std::vector<float>(512, 1e10f)}});
  EXPECT_EQ(code(run({.mix = quantize::mix_from_name("Q8_0")})), "quantize-overflow");
  write_model(model_, llama_keys(), {{"output.weight", {32, 2}, std::vector<float>(64, NAN)}});
  EXPECT_EQ(code(run({.mix = quantize::mix_from_name("Q8_0")})), "quantize-not-finite");
  write_model(model_, llama_keys(), {{"output.weight", {32, 2}, std::vector<float>(64, 1.0f)}});
  EXPECT_EQ(code(run({.mix = quantize::mix_from_name("Q1_0"), .pure = true})), "quantize-no-fallback");
  EXPECT_EQ(code(run({.like = model_ + ".none"})), "io-open");
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(Requantize, SourcesThatCannotBe) {
  const auto code = [](const auto& result) { return result ? std::string() : result.error().code; };
  write_model(model_, llama_keys(), {});
  EXPECT_EQ(code(run({})), "quantize-no-tensors");
  std::ofstream(model_, std::ios::binary) << test::GgufBuilder().big_endian().f32_tensor("a.weight", {32, 2}).build();
  EXPECT_EQ(code(run({})), "quantize-big-endian");
}

TEST_F(Requantize, LikeAnotherKindOfModel) {
  const std::string other = folder_.path() + "/other.gguf";
  write_model(other, {}, {matrix("v.blk.0.attn_q.weight", 32, 2, 1)});
  const auto report = run({.like = other});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "quantize-like");
}

TEST_F(Requantize, MemoryOfAnUnknownArchitecture) {
  write_model(model_, {gguf::make_key_string("general.architecture", "none-such")},
              {matrix("output.weight", 256, 4, 1)});
  const auto report = run({.gpu = u64{1} << 40, .context = 4096});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "quantize-memory");
}

TEST_F(Requantize, Iq3sAfterZerosIsAWarning) {
  std::vector<float> values = test::reference_values("bell", 5, 2, 256);
  std::fill_n(values.begin(), 32, 0.0f);
  write_model(model_, llama_keys(1), {{"blk.0.ffn_up.weight", {256, 2}, values}});
  const auto as_ggml = run({.mix = quantize::mix_from_name("IQ3_S")});
  ASSERT_TRUE(as_ggml);
  EXPECT_EQ(as_ggml->remarks.findings().front().code, "quantize-iq3s-misplaced");
  EXPECT_GT(as_ggml->tensors[0].error.plain.rms(), 0.5);
  const auto correct = run({.mix = quantize::mix_from_name("IQ3_S"), .correct = true});
  ASSERT_TRUE(correct);
  EXPECT_TRUE(correct->remarks.findings().empty());
  EXPECT_LT(correct->tensors[0].error.plain.rms(), 0.2);
}

TEST_F(Requantize, SizeLimitIsKeptAndUsed) {
  for (const u64 limit : {u64{16000}, u64{20000}, u64{30000}}) {
    const auto report = run({.max_size = limit});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_LE(report->file_bytes, limit);
    EXPECT_EQ(std::filesystem::file_size(output_), report->file_bytes);
    EXPECT_GT(report->file_bytes, limit * 8 / 10);
    EXPECT_FALSE(report->sample.empty());
  }
}

TEST_F(Requantize, LikeAndRecipeRepeatTheTypes) {
  const auto first = run({.mix = quantize::mix_from_name("Q4_K_M"), .overrides = {{"blk.1.*", TensorType::Q5_1}}});
  ASSERT_TRUE(first);
  const std::string other = folder_.path() + "/other.gguf";
  std::filesystem::rename(output_, other);
  const auto like = run({.like = other});
  ASSERT_TRUE(like);
  std::ofstream recipe(folder_.path() + "/recipe");
  recipe << "# types\n";
  for (const std::string& line : first->recipe()) recipe << line << '\n';
  recipe.close();
  const auto read = read_recipe(folder_.path() + "/recipe");
  ASSERT_TRUE(read);
  const auto again = run({.mix = read->mix, .overrides = read->overrides});
  ASSERT_TRUE(again);
  for (std::size_t i = 0; i < first->tensors.size(); ++i) {
    EXPECT_EQ(like->tensors[i].type, first->tensors[i].type);
    EXPECT_EQ(again->tensors[i].type, first->tensors[i].type);
  }
  EXPECT_EQ(like->mix, "Q4_K_M");
}

// Both formats of importance matrices give the same weights; each of two experts has separate weights.
TEST_F(Requantize, ImportanceOfBothFormats) {
  write_model(model_, llama_keys(1),
              {{"blk.0.ffn_up_exps.weight", {256, 3, 2}, test::reference_values("bell", 4, 6, 256)}});
  const std::vector<float> sums = test::reference_weights("even", 3, 512, 1);
  const std::string gguf_matrix = folder_.path() + "/m.imatrix";
  const std::string name = "blk.0.ffn_up_exps.weight";
  write_model(gguf_matrix,
              {gguf::make_key_string("general.type", "imatrix"), gguf::make_key_strings("imatrix.datasets", {"text"}),
               gguf::make_key("imatrix.chunk_count", 7), gguf::make_key("imatrix.chunk_size", 512)},
              {{name + ".in_sum2", {256, 2}, sums}, {name + ".counts", {1, 2}, {4.0f, 4.0f}}});
  std::string legacy;
  const i32 head[] = {1, static_cast<i32>(name.size())};
  const i32 numbers[] = {4, 512};
  const i32 tail[] = {7, 4};
  append(legacy, head, sizeof head);
  legacy += name;
  append(legacy, numbers, sizeof numbers);
  append(legacy, sums.data(), 4 * sums.size());
  append(legacy, tail, sizeof tail);
  legacy += "text";
  const std::string legacy_matrix = folder_.path() + "/m.dat";
  std::ofstream(legacy_matrix, std::ios::binary) << legacy;

  const auto matrix = quantize::ImportanceMatrix::open(legacy_matrix);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_TRUE((*matrix)->is_legacy());
  EXPECT_EQ((*matrix)->chunks(), 7u);
  EXPECT_EQ((*matrix)->datasets().front(), "text");
  std::vector<double> errors;
  for (const std::string& path : {gguf_matrix, legacy_matrix}) {
    const auto report = run({.mix = quantize::mix_from_name("Q4_K_S"), .importance = path});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->tensors[0].weighted);
    errors.push_back(report->tensors[0].error.weighted.dd);
    const auto set = gguf::open_set(output_);
    const gguf::Index index(set->files.front().document);
    EXPECT_EQ(index.string_value("quantize.imatrix.file"), path);
    EXPECT_EQ(index.string_value("quantize.imatrix.dataset"), "text");
    EXPECT_EQ(index.unsigned_value("quantize.imatrix.entries_count"), 1u);
    EXPECT_EQ(index.unsigned_value("quantize.imatrix.chunks_count"), 7u);
  }
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_GT(errors[0], 0);

  // Files that are truncated anywhere, or have wrong sizes.
  for (std::size_t size = 0; size < legacy.size() - 12; size += 37) {
    std::ofstream(legacy_matrix, std::ios::binary) << legacy.substr(0, size);
    const auto cut = quantize::ImportanceMatrix::open(legacy_matrix);
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, "imatrix-format");
  }
  write_model(gguf_matrix, {gguf::make_key_string("general.type", "imatrix")}, {{name + ".in_sum2", {256, 2}, sums}});
  EXPECT_EQ(quantize::ImportanceMatrix::open(gguf_matrix).error().code, "imatrix-keys");
  const std::vector<gguf::OutKey> keys = {gguf::make_key_strings("imatrix.datasets", {}),
                                          gguf::make_key("imatrix.chunk_count", 1),
                                          gguf::make_key("imatrix.chunk_size", 512)};
  write_model(gguf_matrix, keys, {{name + ".in_sum2", {256, 2}, sums}});
  EXPECT_EQ(quantize::ImportanceMatrix::open(gguf_matrix).error().code, "imatrix-entry");
  std::vector<float> bad = sums;
  bad[3] = INFINITY;
  write_model(gguf_matrix, keys, {{name + ".in_sum2", {256, 2}, bad}, {name + ".counts", {1, 2}, {4, 4}}});
  EXPECT_EQ(run({.mix = quantize::mix_from_name("Q4_K_S"), .importance = gguf_matrix}).error().code,
            "imatrix-not-finite");
  write_model(gguf_matrix, keys,
              {{name + ".in_sum2", {128, 2}, std::vector<float>(256, 1)}, {name + ".counts", {1, 2}, {4, 4}}});
  EXPECT_EQ(run({.mix = quantize::mix_from_name("Q4_K_S"), .importance = gguf_matrix}).error().code, "imatrix-size");
}

// Compares the sums with straightforward ones.
TEST(TensorError, Measures) {
  std::vector<float> exact, carried, weights;
  double values2 = 0, error2 = 0, product = 0, carried2 = 0, weighted = 0, largest = 0;
  for (int i = 0; i < 1003; ++i) {
    exact.push_back(std::sin(static_cast<float>(i)));
    carried.push_back(exact.back() + 0.01f * std::cos(static_cast<float>(7 * i)));
    weights.push_back(static_cast<float>(i % 5));
    const double x = exact.back();
    const double y = carried.back();
    values2 += x * x;
    carried2 += y * y;
    product += x * y;
    error2 += (x - y) * (x - y);
    weighted += weights.back() * (x - y) * (x - y);
    largest = std::max(largest, std::fabs(x - y));
  }
  TensorError error;
  measure_row(exact, carried, weights, error);
  EXPECT_NEAR(error.plain.rms(), std::sqrt(error2 / values2), 1e-9);
  EXPECT_NEAR(error.plain.cosine(), product / std::sqrt(values2 * carried2), 1e-12);
  EXPECT_NEAR(error.plain.max_abs, largest, 1e-7);
  EXPECT_NEAR(error.weighted.dd, weighted, 1e-9);
  EXPECT_EQ(TensorError{}.plain.cosine(), 1);
  EXPECT_EQ(TensorError{}.plain.rms(), 0);
}

TEST(Recipe, WhatIsWrongInIt) {
  test::TempDir folder;
  const std::string path = folder.path() + "/recipe";
  const auto code = [&](std::string_view text) {
    std::ofstream(path) << text;
    const auto recipe = read_recipe(path);
    return recipe ? std::string() : recipe.error().code;
  };
  EXPECT_EQ(code("# nothing\n\n  type=q4_k_m \n*.weight = Q8_0\r\n"), "");
  EXPECT_EQ(code("type=Q9\n"), "quantize-recipe");
  EXPECT_EQ(code("a=Q8_1\n"), "quantize-recipe");
  EXPECT_EQ(code("=Q8_0\n"), "quantize-recipe");
  EXPECT_EQ(code("only words\n"), "quantize-recipe");
}

}  // namespace
}  // namespace modelutils::requantize
