#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils::gguf {
namespace {

using test::GgufBuilder;

// A parsed file with a single array, under the key "k".
struct OneArray {
  explicit OneArray(const GgufBuilder& builder)
      : source(builder.source()), document(parse(*source).value()), array(std::get<ArrayRef>(document.keys[0].value)) {}

  template <typename T>
  std::vector<T> numbers(u64 first = 0, u64 most = ~u64{0}) const {
    return read_numbers<T>(*source, document, array, first, most).value();
  }

  std::shared_ptr<MemoryFile> source;
  Document document;
  ArrayRef array;
};

TEST(Arrays, NumbersOfEveryType) {
  for (const bool big : {false, true}) {
    const auto make = [&] { return GgufBuilder().big_endian(big); };
    EXPECT_EQ(OneArray(make().key_array<u8>("k", {0, 255})).numbers<i64>(), (std::vector<i64>{0, 255}));
    EXPECT_EQ(OneArray(make().key_array<i8>("k", {-128, 127})).numbers<i64>(), (std::vector<i64>{-128, 127}));
    EXPECT_EQ(OneArray(make().key_array<u16>("k", {1, 65535})).numbers<u64>(), (std::vector<u64>{1, 65535}));
    EXPECT_EQ(OneArray(make().key_array<i16>("k", {-2, 3})).numbers<i64>(), (std::vector<i64>{-2, 3}));
    EXPECT_EQ(OneArray(make().key_array<u32>("k", {~0u})).numbers<i64>(), (std::vector<i64>{4294967295}));
    EXPECT_EQ(OneArray(make().key_array<i32>("k", {-7})).numbers<double>(), (std::vector<double>{-7}));
    EXPECT_EQ(OneArray(make().key_array<float>("k", {0.5f})).numbers<double>(), (std::vector<double>{0.5}));
    EXPECT_EQ(OneArray(make().key_array<u64>("k", {~u64{0}})).numbers<u64>(), (std::vector<u64>{~u64{0}}));
    EXPECT_EQ(OneArray(make().key_array<i64>("k", {-9})).numbers<i64>(), (std::vector<i64>{-9}));
    EXPECT_EQ(OneArray(make().key_array<double>("k", {0.1})).numbers<double>(), (std::vector<double>{0.1}));
    EXPECT_EQ(OneArray(make().key_bools("k", {0, 1, 3})).numbers<u64>(), (std::vector<u64>{0, 1, 1}));
  }
}

TEST(Arrays, NumbersSaturate) {
  constexpr i64 least = std::numeric_limits<i64>::min();
  constexpr i64 most = std::numeric_limits<i64>::max();
  EXPECT_EQ(OneArray(GgufBuilder().key_array<i32>("k", {-1, 5})).numbers<u64>(), (std::vector<u64>{0, 5}));
  EXPECT_EQ(OneArray(GgufBuilder().key_array<u64>("k", {~u64{0}})).numbers<i64>(), (std::vector<i64>{most}));
  const OneArray floats(GgufBuilder().key_array<float>("k", {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 2.9f, -2.9f}));
  EXPECT_EQ(floats.numbers<i64>(), (std::vector<i64>{0, most, least, most, least, 2, -2}));
  EXPECT_EQ(floats.numbers<u64>(), (std::vector<u64>{0, ~u64{0}, 0, ~u64{0}, 0, 2, 0}));
  const OneArray edge(GgufBuilder().key_array<double>("k", {9223372036854775808.0, 18446744073709551616.0}));
  EXPECT_EQ(edge.numbers<i64>(), (std::vector<i64>{most, most}));
  EXPECT_EQ(edge.numbers<u64>(), (std::vector<u64>{u64{1} << 63, ~u64{0}}));
}

TEST(Arrays, PartsOfNumbers) {
  std::vector<u32> many(200000);
  for (u32 i = 0; i < many.size(); ++i) many[i] = i * 3;
  const OneArray array(GgufBuilder().key_array<u32>("k", many));
  EXPECT_EQ(array.numbers<u64>(199998), (std::vector<u64>{599994, 599997}));
  EXPECT_EQ(array.numbers<u64>(5, 2), (std::vector<u64>{15, 18}));
  EXPECT_EQ(array.numbers<u64>().size(), many.size());
  EXPECT_TRUE(array.numbers<u64>(200000).empty());
  EXPECT_TRUE(array.numbers<u64>(~u64{0}).empty());
  EXPECT_TRUE(array.numbers<u64>(0, 0).empty());
}

TEST(Arrays, Strings) {
  std::vector<std::string> many;
  for (int i = 0; i < 60000; ++i)
    many.push_back(std::string(static_cast<std::size_t>(i % 17), 'x') + std::to_string(i));
  many.push_back(std::string(400000, 'y'));  // longer than the window
  many.push_back({});
  const OneArray array(GgufBuilder().key_strings("k", many));
  EXPECT_EQ(read_strings(*array.source, array.document, array.array).value(), many);
  EXPECT_EQ(read_strings(*array.source, array.document, array.array, 2).value(), (std::vector<std::string>{"0", "x1"}));
  EXPECT_TRUE(read_strings(*array.source, array.document, array.array, 0).value().empty());

  u64 visited = 0;
  u64 expected_offset = array.array.offset + 8;
  const Status status =
      visit_strings(*array.source, array.document, array.array, [&](u64 index, std::string_view text, u64 offset) {
        EXPECT_EQ(index, visited);
        EXPECT_EQ(offset, expected_offset);
        expected_offset += text.size() + 8;
        return ++visited < 10;
      });
  EXPECT_TRUE(status.has_value());
  EXPECT_EQ(visited, 10u);
}

TEST(Arrays, StringsAtIndexes) {
  std::vector<std::string> many;
  for (std::size_t i = 0; i < 60000; ++i) many.push_back(std::string(i % 17, 'x') + std::to_string(i));
  many[30000] = std::string(400000, 'y');  // longer than the window
  for (const bool big : {false, true}) {
    const OneArray array(GgufBuilder().big_endian(big).key_strings("k", many).key_strings("other", many));
    std::vector<u64> offsets;
    const Status all =
        visit_strings(*array.source, array.document, array.array, [&](u64, std::string_view, u64 offset) {
          offsets.push_back(offset);
          return true;
        });
    ASSERT_TRUE(all.has_value());
    std::size_t marks = 0;
    for (const StringMark& mark : array.document.string_marks) {
      if (mark.offset >= array.array.offset + array.array.bytes) continue;
      EXPECT_EQ(mark.offset + 8, offsets[mark.index]);
      ++marks;
    }
    EXPECT_GT(marks, 1u);
    EXPECT_LT(marks, 60000u / 4096 + 1);
    EXPECT_GT(array.document.string_marks.size(), marks) << "those of the other array";
    std::vector<u64> indexes = {0, 1, 4095, 4096, 29999, 30000, 30001, 59000, 59999};
    for (const StringMark& mark : array.document.string_marks) indexes.push_back(mark.index);
    std::ranges::sort(indexes);
    indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
    for (const bool has_marks : {true, false}) {
      Document document = array.document;
      if (!has_marks) document.string_marks.clear();
      std::size_t visited = 0;
      const Status some = visit_strings_at(*array.source, document, array.array, indexes,
                                           [&](u64 index, std::string_view text, u64 offset) {
                                             EXPECT_EQ(index, indexes[visited]);
                                             EXPECT_EQ(text, many[index]);
                                             EXPECT_EQ(offset, offsets[index]);
                                             return ++visited < indexes.size();
                                           });
      EXPECT_TRUE(some.has_value());
      EXPECT_EQ(visited, indexes.size());
    }
  }
}

TEST(Arrays, ValuesOfEveryType) {
  const OneArray bools(GgufBuilder().key_bools("k", {1, 4}));
  auto values = read_values(*bools.source, bools.document, bools.array).value();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(std::get<Bool>(values[1]).byte, 4) << "the byte as it is";

  const OneArray strings(GgufBuilder().key_strings("k", {"a", "bc", "d", "e"}));
  values = read_values(*strings.source, strings.document, strings.array, 2).value();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(std::get<std::string>(values[0]), "a");
  EXPECT_EQ(std::get<std::string>(values[1]), "bc");
  EXPECT_TRUE(read_values(*strings.source, strings.document, strings.array, 0).value().empty());

  const auto check = [](auto first) {
    using T = decltype(first);
    const OneArray numbers(GgufBuilder().key_array<T>("k", {T{3}, first}));
    const auto read = read_values(*numbers.source, numbers.document, numbers.array).value();
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(std::get<T>(read[1]), first);
  };
  check(u8{200}), check(i8{-100}), check(u16{60000}), check(i16{-30000}), check(u32{4000000000}),
      check(i32{-2000000000});
  check(float{0.25}), check(u64{1} << 63), check(-(i64{1} << 62)), check(double{0.3});
}

TEST(Arrays, ValuesOfArraysInArrays) {
  GgufBuilder builder;
  std::string bytes;
  builder.put<u32>(bytes, 4);
  builder.put<u64>(bytes, 2);
  builder.put<u32>(bytes, 11);
  builder.put<u32>(bytes, 12);
  builder.put<u32>(bytes, 8);
  builder.put<u64>(bytes, 1);
  builder.put_text(bytes, "inner");
  const OneArray outer(builder.key_raw_array("k", 9, 2, bytes));
  const auto values = read_values(*outer.source, outer.document, outer.array).value();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(read_numbers<u64>(*outer.source, outer.document, std::get<ArrayRef>(values[0])).value(),
            (std::vector<u64>{11, 12}));
  EXPECT_EQ(read_strings(*outer.source, outer.document, std::get<ArrayRef>(values[1])).value(),
            (std::vector<std::string>{"inner"}));
}

TEST(Arrays, SayWhenTheFileChanged) {
  GgufBuilder builder;
  std::string nested, changed;
  for (auto* bytes : {&nested, &changed}) {
    builder.put<u32>(*bytes, bytes == &nested ? 4 : 99);  // 99 is not a type
    builder.put<u64>(*bytes, 1);
    builder.put<u32>(*bytes, 11);
  }
  const OneArray before(GgufBuilder().key_raw_array("k", 9, 1, nested));
  const auto after = GgufBuilder().key_raw_array("k", 9, 1, changed).source();
  EXPECT_EQ(read_values(*after, before.document, before.array).error().code, "io-short");

  const OneArray strings(GgufBuilder().key_strings("k", {"a", "bc"}));
  const std::string cut = GgufBuilder().key_strings("k", {"a", "bc"}).build().substr(0, strings.array.offset + 9);
  const auto span = std::as_bytes(std::span(cut));
  const MemoryFile shorter({span.begin(), span.end()}, "cut.gguf");
  const auto status = read_strings(shorter, strings.document, strings.array);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "io-short");
  EXPECT_EQ(read_values(shorter, strings.document, strings.array).error().code, "io-short");

  const OneArray numbers(GgufBuilder().key_array<u64>("k", {1, 2, 3}));
  EXPECT_EQ(read_numbers<u64>(shorter, numbers.document, numbers.array).error().code, "io-short");
}

TEST(Arrays, RefuseOtherTypes) {
  const OneArray strings(GgufBuilder().key_strings("k", {"a"}));
  EXPECT_EQ(read_numbers<u64>(*strings.source, strings.document, strings.array).error().kind, ErrorKind::internal);
  const OneArray numbers(GgufBuilder().key_array<u8>("k", {1}));
  EXPECT_EQ(read_strings(*numbers.source, numbers.document, numbers.array).error().kind, ErrorKind::internal);
}

}  // namespace
}  // namespace modelutils::gguf
