#include "report/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "capture.h"
#include "formats/gguf/parse.h"
#include "model/catalog.h"
#include "support/gguf_builder.h"

namespace modelutils {
namespace {

Model model_of(const test::GgufBuilder& builder) {
  gguf::SplitSet set;
  auto source = builder.source();
  auto document = gguf::parse(*source);
  set.files.push_back({"m.gguf", source, std::move(*document)});
  return Model(std::move(set), "m.gguf");
}

std::string values(const Model& model, std::string_view name, ValuesOptions options = {}) {
  return test::capture([&](TextOutput& out) {
    const Status status = write_values(out, model, *model.catalog().find(name), options);
    if (!status) out << status.error().code;
  });
}

template <typename T>
std::string bytes_of(const std::vector<T>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
}

TEST(Values, IntegersAndDoublesKeepEveryDigit) {
  const Model model = model_of(test::GgufBuilder()
                                   .tensor({.name = "i64",
                                            .ne = {2},
                                            .type = 27,
                                            .data = bytes_of<i64>({std::numeric_limits<i64>::min(), 9007199254740993})})
                                   .tensor({.name = "f64", .ne = {1}, .type = 28, .data = bytes_of<double>({0.1})})
                                   .tensor({.name = "i8", .ne = {2}, .type = 24, .data = bytes_of<i8>({-1, 127})}));
  EXPECT_EQ(values(model, "i64"), "-9223372036854775808\n9007199254740993\n");
  EXPECT_EQ(values(model, "f64"), "0.1\n");
  EXPECT_EQ(values(model, "i8", {.count = 1}), "-1\n");
  EXPECT_EQ(values(model, "i8", {.count = {}, .json = true}),
            "{\"schema\":\"values/1\",\"name\":\"i8\",\"type\":\"I8\",\"shape\":[2],\"values\":[-1,127]}\n");
}

TEST(Values, BigEndianDataIsNotDecoded) {
  const Model model = model_of(test::GgufBuilder()
                                   .big_endian()
                                   .tensor({.name = "i", .ne = {1}, .type = 26, .data = std::string(4, '\1')})
                                   .f32_tensor("f", {2}));
  EXPECT_EQ(values(model, "i"), "tensor-no-decoder");
  EXPECT_EQ(values(model, "f"), "tensor-no-decoder");
}

// Any range of elements in blocks of 32, including ranges that start and end inside blocks.
TEST(Values, AnyRangeOfABlockType) {
  constexpr u64 count = 32 * 1000;
  std::string data;
  for (u64 block = 0; block < count / 32; ++block) {
    data += std::string("\x00\x3c", 2);  // scale 1
    for (int i = 0; i < 32; ++i) data += static_cast<char>((block + static_cast<u64>(i)) % 100);
  }
  const Model model =
      model_of(test::GgufBuilder().tensor({.name = "q", .ne = {32, count / 32}, .type = 8, .data = data}));
  std::vector<float> all(count);
  ASSERT_TRUE(model.catalog().values_of(model.catalog().tensors[0]).read_values(0, all));
  for (const auto& [first, size] : std::vector<std::pair<u64, u64>>{
           {0, 1}, {31, 2}, {5, 3}, {100, 20'000}, {count - 1, 1}, {16'383, 2}, {count, 0}, {1, count - 1}}) {
    std::vector<float> part(size);
    ASSERT_TRUE(model.catalog().values_of(model.catalog().tensors[0]).read_values(first, part)) << first;
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(first))) << first;
  }
  std::vector<float> beyond(2);
  EXPECT_FALSE(model.catalog().values_of(model.catalog().tensors[0]).read_values(count - 1, beyond));
  EXPECT_FALSE(model.catalog().values_of(model.catalog().tensors[0]).read_values(~u64{0}, beyond));
}

TEST(Statistics, AreThoseOfTheWholeHoweverItIsCut) {
  std::vector<float> numbers(100'000);
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 1000.0F + static_cast<float>(i % 7) / 4;
    sum += static_cast<double>(numbers[i]);
  }
  const double mean = sum / static_cast<double>(numbers.size());
  double squares = 0;
  for (const float number : numbers)
    squares += (static_cast<double>(number) - mean) * (static_cast<double>(number) - mean);
  const auto read = [&](u64 first, std::span<float> out) -> Status {
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
    return {};
  };
  const auto statistics = statistics_of(numbers.size(), read);
  ASSERT_TRUE(statistics);
  EXPECT_EQ(statistics->count, numbers.size());
  EXPECT_DOUBLE_EQ(statistics->mean, mean);
  EXPECT_NEAR(statistics->deviation, std::sqrt(squares / static_cast<double>(numbers.size())), 1e-9);
  EXPECT_EQ(statistics->min, 1000);
  EXPECT_EQ(statistics->max, 1001.5);
}

TEST(Statistics, CountNanAndInfApart) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  Statistics statistics;
  add_values(statistics, std::vector<float>{std::nanf(""), inf});
  EXPECT_EQ(statistics.finite(), 0U);
  add_values(statistics, std::vector<float>{-3, -0.0F, 0, -inf});
  EXPECT_EQ(statistics.count, 6U);
  EXPECT_EQ(statistics.nans, 1U);
  EXPECT_EQ(statistics.infs, 2U);
  EXPECT_EQ(statistics.zeros, 2U);
  EXPECT_EQ(statistics.min, -3);
  EXPECT_EQ(statistics.max, 0);
  EXPECT_EQ(statistics.mean, -1);
}

TEST(Statistics, DoNotDependOnTheNumberOfThreads) {
  test::GgufBuilder builder;
  for (int i = 0; i < 20; ++i) builder.f32_tensor("t" + std::to_string(i), {1000});
  builder.tensor({.name = "none", .ne = {32}, .type = 9, .data = std::string(36, '\0')});  // Q8_1 has no decoder
  const Model model = model_of(builder);
  const Listing listing = listing_of(model)->list({});
  const auto text = [&](unsigned threads, bool json) {
    const auto rows = statistics_of(model, listing.tensors, nullptr, threads);
    EXPECT_TRUE(rows);
    return test::capture([&](TextOutput& out) { write_statistics(out, *rows, {json, {}}); });
  };
  EXPECT_EQ(text(1, false), text(4, false));
  EXPECT_EQ(text(1, true), text(4, true));
  EXPECT_NE(
      text(1, true).find(R"("name":"t7","type":"F32","shape":[1000],"count":1000,"min":0,"max":999,"mean":499.5)"),
      std::string::npos);
}

}  // namespace
}  // namespace modelutils
