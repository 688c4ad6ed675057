#include "compare/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "support/gguf_builder.h"
#include "support/opened_model.h"
#include "support/temp_dir.h"
#include "tensor/types.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

std::unique_ptr<ModelDiff> compare(const std::string& a, const std::string& b, CompareOptions options = {}) {
  options.data = true;
  auto diff = compare_models(*test::opened(a), *test::opened(b), options);
  EXPECT_TRUE(diff) << diff.error().message;
  return std::move(*diff);
}

struct Golden {
  std::string name, blocks;
  std::vector<float> values;
  TensorType type;
};

// Every file in tests/data/dequant: blocks, and their values decoded by another implementation.
std::vector<Golden> golden_blocks() {
  std::vector<Golden> list;
  for (const auto& entry : std::filesystem::directory_iterator(test::data_dir() + "/dequant/")) {
    if (entry.path().extension() != ".blocks") continue;
    Golden golden{entry.path().stem().string(), test::read_file(entry.path().string()), {}, {}};
    golden.type = *type_from_name(golden.name);
    const std::string values = test::read_file(std::filesystem::path(entry.path()).replace_extension(".f32").string());
    golden.values.resize(values.size() / sizeof(float));
    std::memcpy(golden.values.data(), values.data(), values.size());
    list.push_back(std::move(golden));
  }
  return list;
}

std::string file_with(u32 type, u64 ne0, u64 ne1, std::string data) {
  return GgufBuilder()
      .key_string("general.architecture", "test")
      .f32_tensor("untouched", {64})
      .tensor({.name = "t", .ne = {ne0, ne1}, .type = type, .data = std::move(data)})
      .f32_tensor("untouched.too", {64})
      .build();
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Compares with float32 values that deviate slightly, using independent sums.
TEST(Compare, ErrorsOfEveryBlockTypeAreThoseOfAnIndependentComputation) {
  const test::TempDir folder;
  int types = 0;
  for (const Golden& golden : golden_blocks()) {
    SCOPED_TRACE(golden.name);
    const u64 rows = 2, columns = golden.values.size() / rows;
    std::vector<float> other = golden.values;
    for (std::size_t i = 0; i < other.size(); ++i) other[i] += 0.001f * static_cast<float>(i % 7) * std::abs(other[i]);
    long double aa = 0, bb = 0, ab = 0, dd = 0, largest = 0;
    long double row_aa[2] = {}, row_dd[2] = {};
    u64 different = 0;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const long double a = golden.values[i], b = other[i];
      ASSERT_TRUE(std::isfinite(golden.values[i]));
      aa += a * a, bb += b * b, ab += a * b, dd += (b - a) * (b - a);
      row_aa[i / columns] += a * a, row_dd[i / columns] += (b - a) * (b - a);
      largest = std::max(largest, std::abs(b - a));
      different += golden.values[i] != other[i] ? 1 : 0;
    }
    const std::string a =
        folder.write("a.gguf", file_with(static_cast<u32>(golden.type), columns, rows, golden.blocks));
    const std::string b = folder.write("b.gguf", file_with(0, columns, rows, bytes_of(other)));
    const auto diff = compare(a, b);
    const std::vector<TensorChange> changes = diff->changed_values();
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].pair.a->name, "t");
    const Measurement& measured = *changes[0].measured;
    const auto rms = static_cast<double>(std::sqrt(dd / aa));
    EXPECT_NEAR(measured.sums.rms(), rms, rms * 0x1p-20);
    EXPECT_NEAR(measured.sums.cosine(), static_cast<double>(ab / std::sqrt(aa * bb)), 1e-9);
    EXPECT_DOUBLE_EQ(measured.sums.max_abs, static_cast<double>(largest));
    EXPECT_EQ(measured.sums.different, different);
    ASSERT_EQ(measured.worst.size(), 2u);
    const double worst = std::sqrt(static_cast<double>(row_dd[measured.worst[0].row] / row_aa[measured.worst[0].row]));
    EXPECT_NEAR(measured.worst[0].rms, worst, worst * 0x1p-20);
    EXPECT_GE(measured.worst[0].rms, measured.worst[1].rms);
    EXPECT_EQ(diff->tensors.retyped, golden.type == TensorType::F32 ? 0u : 1u);
    ++types;
  }
  EXPECT_EQ(types, 27);
}

TEST(Compare, TheValuesOfEveryBlockTypeEqualThemselvesAsF32) {
  const test::TempDir folder;
  for (const Golden& golden : golden_blocks()) {
    SCOPED_TRACE(golden.name);
    const u64 columns = golden.values.size() / 2;
    const std::string a = folder.write("a.gguf", file_with(static_cast<u32>(golden.type), columns, 2, golden.blocks));
    const std::string b = folder.write("b.gguf", file_with(0, columns, 2, bytes_of(golden.values)));
    CompareOptions any_type;
    any_type.max_rms = 0;
    const auto diff = compare(a, b, any_type);
    EXPECT_TRUE(diff->changed_values().empty());
    EXPECT_TRUE(diff->equal());
    EXPECT_FALSE(compare(a, b)->equal());  // a different type counts as a difference
  }
}

// Flips a bit in the middle of a block of every type: only that tensor may differ.
TEST(Compare, OneFlippedBitIsFoundInEveryBlockType) {
  const test::TempDir folder;
  for (const Golden& golden : golden_blocks()) {
    SCOPED_TRACE(golden.name);
    const u64 columns = golden.values.size() / 2;
    const u32 type = static_cast<u32>(golden.type);
    const std::string a = folder.write("a.gguf", file_with(type, columns, 2, golden.blocks));
    for (const std::size_t at : {std::size_t{0}, golden.blocks.size() / 2 + 1, golden.blocks.size() - 1}) {
      std::string changed = golden.blocks;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      const std::string b = folder.write("b.gguf", file_with(type, columns, 2, changed));
      const auto diff = compare(a, b);
      EXPECT_EQ(diff->keys.size() + diff->tokenizer.size() + diff->identity.size(), 0u);
      EXPECT_EQ(diff->tensors.retyped + diff->tensors.reshaped.size(), 0u);
      // A bit may not affect the values, but the bytes differ anyway.
      u64 not_equal = 0;
      for (std::size_t i = 0; i < diff->measured.size(); ++i) {
        if (diff->measured[i].equal_bytes) continue;
        ++not_equal;
        EXPECT_EQ(diff->tensors.same_shape[i].a->name, "t");
      }
      EXPECT_EQ(not_equal, 1u);
    }
  }
}

// Rows are read and decoded piece by piece; reported positions refer to the whole tensor.
TEST(Compare, TellsWhereInALargeTensorValuesDiffer) {
  constexpr u64 columns = 100, rows = 1000;
  const test::TempDir folder;
  std::vector<float> values(columns * rows, 1.0f);
  const std::string a = folder.write("a.gguf", file_with(0, columns, rows, bytes_of(values)));
  values[517 * columns + 3] = 1.5f;
  values[901 * columns] = 3.0f;
  const std::string b = folder.write("b.gguf", file_with(0, columns, rows, bytes_of(values)));
  const auto diff = compare(a, b);
  const Measurement* t = nullptr;
  for (std::size_t i = 0; i < diff->measured.size(); ++i) {
    const Measurement& one = diff->measured[i];
    if (!one.equal_bytes) t = &one;
  }
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->sums.different, 2u);
  EXPECT_EQ(t->sums.max_abs, 2.0);
  EXPECT_EQ(t->first, 517 * columns + 3);
  EXPECT_EQ(t->first_a, 1.0f);
  EXPECT_EQ(t->first_b, 1.5f);
  ASSERT_EQ(t->worst.size(), 2u);
  EXPECT_EQ(t->worst[0].row, 901u);
  EXPECT_DOUBLE_EQ(t->worst[0].rms, 0.2);  // 2² over 100 × 1²
  EXPECT_EQ(t->worst[1].row, 517u);
  EXPECT_DOUBLE_EQ(t->worst[1].rms, 0.05);
}

TEST(Compare, TheOtherWayRoundOnlySignsChange) {
  const test::TempDir folder;
  const auto file = [](const char* name, u64 wide, float value, bool more) {
    GgufBuilder built;
    built.key_string("general.architecture", "test").key_string("general.name", name).f32_tensor("same", {4});
    built.f32_tensor("shape", {wide}).tensor({.name = "v", .ne = {4}, .type = 0, .data = bytes_of({1, 2, 3, value})});
    if (more) built.f32_tensor("more", {4}).key_u32("more", 1);
    return built.build();
  };
  const std::string a = folder.write("a.gguf", file("a", 4, 4, false));
  const std::string b = folder.write("b.gguf", file("b", 8, 5, true));
  const auto there = compare(a, b);
  const auto back = compare(b, a);
  EXPECT_EQ(there->tensors.added.size(), 1u);
  EXPECT_EQ(back->tensors.removed.size(), 1u);
  EXPECT_EQ(there->tensors.removed.size() + back->tensors.added.size(), 0u);
  EXPECT_EQ(there->keys.added.size(), 1u);
  EXPECT_EQ(back->keys.removed.size(), 1u);
  EXPECT_EQ(there->keys.changed.size(), back->keys.changed.size());
  EXPECT_EQ(there->tensors.reshaped.size(), 1u);
  EXPECT_EQ(back->tensors.reshaped.size(), 1u);
  ASSERT_EQ(there->changed_values().size(), 1u);
  ASSERT_EQ(back->changed_values().size(), 1u);
  const Measurement& one = *there->changed_values()[0].measured;
  const Measurement& other = *back->changed_values()[0].measured;
  EXPECT_EQ(one.sums.max_abs, 1);
  EXPECT_EQ(other.sums.max_abs, 1);
  EXPECT_DOUBLE_EQ(one.sums.cosine(), other.sums.cosine());
  EXPECT_DOUBLE_EQ(one.sums.rms(), std::sqrt(1 / 30.0));    // relative to a: 1, 2, 3, 4
  EXPECT_DOUBLE_EQ(other.sums.rms(), std::sqrt(1 / 39.0));  // relative to b: 1, 2, 3, 5
  EXPECT_EQ(one.first, 3u);
  EXPECT_EQ(one.first_a, 4);
  EXPECT_EQ(one.first_b, 5);
}

TEST(Compare, ArraysDifferInRanges) {
  const test::TempDir folder;
  const auto file = [](const std::vector<std::string>& tokens, const std::vector<float>& scores) {
    return GgufBuilder()
        .key_string("general.architecture", "test")
        .key_strings("tokenizer.ggml.tokens", tokens)
        .key_array<float>("tokenizer.ggml.scores", scores)
        .build();
  };
  const std::string a = folder.write("a.gguf", file({"a", "b", "c", "d", "e"}, {0, 1, 2}));
  const std::string b = folder.write("b.gguf", file({"a", "B", "C", "d", "E", "f"}, {0, 1, 2}));
  const auto diff = compare(a, b);
  ASSERT_EQ(diff->tokenizer.changed.size(), 1u);
  const KeyChange& change = diff->tokenizer.changed[0];
  EXPECT_EQ(change.a->name, "tokenizer.ggml.tokens");
  EXPECT_EQ(change.array.differing, 3u);
  ASSERT_EQ(change.array.ranges.size(), 2u);
  EXPECT_EQ(change.array.ranges[0].first, 1u);
  EXPECT_EQ(change.array.ranges[0].last, 2u);
  EXPECT_EQ(change.array.ranges[1].first, 4u);
  EXPECT_EQ(change.array.ranges[1].last, 4u);
}

TEST(Compare, NumbersOfAnotherTypeAreAnotherValue) {
  const test::TempDir folder;
  const std::string a = folder.write("a.gguf", GgufBuilder().key_u32("k", 4).key_f32("f", NAN).build());
  const std::string b = folder.write("b.gguf", GgufBuilder().key_u64("k", 4).key_f32("f", NAN).build());
  const auto diff = compare(a, b);
  ASSERT_EQ(diff->keys.changed.size(), 1u);
  EXPECT_EQ(diff->keys.changed[0].a->name, "k");
}

// The same file in both byte orders has equal keys, including arrays; values that cannot be decoded are reported.
TEST(Compare, ByteOrder) {
  const test::TempDir folder;
  const auto file = [](bool big, i32 number) {
    return GgufBuilder()
        .big_endian(big)
        .key_u32("k", 4)
        .key_array<i32>("a", {1, number, 3})
        .key_strings("s", {"x", "y"})
        .f32_tensor("t", {4})
        .build();
  };
  const std::string little = folder.write("a.gguf", file(false, 2));
  const std::string big = folder.write("b.gguf", file(true, 2));
  const auto diff = compare(little, big);
  EXPECT_EQ(diff->keys.size(), 0u);
  ASSERT_EQ(diff->measured.size(), 1u);
  EXPECT_FALSE(diff->measured[0].problem.empty());
  EXPECT_TRUE(compare(big, big)->is_silent());
  const auto other = compare(folder.write("c.gguf", file(true, 5)), little);
  ASSERT_EQ(other->keys.changed.size(), 1u);
  EXPECT_EQ(other->keys.changed[0].array.differing, 1u);
}

}  // namespace
}  // namespace modelutils
