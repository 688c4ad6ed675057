#include "formats/gguf/document.h"

#include <gtest/gtest.h>

#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils::gguf {

namespace {

using test::GgufBuilder;

TEST(Keys, TypedGetters) {
  GgufBuilder builder;
  builder.key_string("general.architecture", "llama")
      .key_u32("u32", 7)
      .key_i16("negative", -1)
      .key_i64("i64", 9)
      .key_i32("none", 0);
  builder.key_u64("big", ~u64{0}).key_f32("f32", 0.5f).key_f64("f64", 0.1).key_bool("yes", 1).key_bool("no", 0);
  builder.key_bool("odd", 2).key_array<u8>("array", {1, 2}).f32_tensor("t", {1});
  const auto source = builder.source();
  const Document document = parse(*source).value();
  const Index index(document);

  EXPECT_EQ(index.unsigned_value("u32"), 7u);
  EXPECT_EQ(index.unsigned_value("i64"), 9u);
  EXPECT_EQ(index.unsigned_value("none"), 0u);
  EXPECT_EQ(index.unsigned_value("big"), ~u64{0});
  EXPECT_EQ(index.unsigned_value("negative"), std::nullopt);
  EXPECT_EQ(index.unsigned_value("yes"), std::nullopt);
  EXPECT_EQ(index.unsigned_value("f32"), std::nullopt);
  EXPECT_EQ(index.unsigned_value("array"), std::nullopt);
  EXPECT_EQ(index.unsigned_value("absent"), std::nullopt);
  EXPECT_EQ(index.float_value("f32"), 0.5);
  EXPECT_EQ(index.float_value("f64"), 0.1);
  EXPECT_EQ(index.float_value("u32"), std::nullopt);
  EXPECT_EQ(index.float_value("absent"), std::nullopt);
  EXPECT_EQ(index.bool_value("yes"), true);
  EXPECT_EQ(index.bool_value("no"), false);
  EXPECT_EQ(index.bool_value("odd"), true);
  EXPECT_EQ(index.bool_value("u32"), std::nullopt);
  EXPECT_EQ(index.string_value("general.architecture"), "llama");
  EXPECT_EQ(index.string_value("u32"), std::nullopt);
  ASSERT_NE(index.array_value("array"), nullptr);
  EXPECT_EQ(index.array_value("array")->count, 2u);
  EXPECT_EQ(index.array_value("u32"), nullptr);
  EXPECT_EQ(index.array_value("absent"), nullptr);
  EXPECT_EQ(index.architecture(), "llama");
  EXPECT_EQ(index.arch_key("block_count"), "llama.block_count");
  EXPECT_EQ(index.tensor("t"), &document.tensors[0]);
  EXPECT_EQ(index.tensor("u"), nullptr);
}

TEST(Keys, TheFirstOfEqualNamesWins) {
  GgufBuilder builder;
  builder.key_u32("k", 1).key_u32("other", 5).key_u32("k", 2).key_u32("last", 6);
  builder.f32_tensor("t", {1}).f32_tensor("t", {2}).f32_tensor("u", {3});
  const auto source = builder.source();
  const Document document = parse(*source).value();
  const Index index(document);
  EXPECT_EQ(index.unsigned_value("k"), 1u);
  EXPECT_EQ(index.unsigned_value("last"), 6u);
  EXPECT_EQ(index.tensor("t")->ne[0], 1u);
  EXPECT_EQ(index.tensor("u")->ne[0], 3u);
  EXPECT_EQ(document.find("k")->offset, document.keys[0].offset);
}

TEST(Keys, ArchitectureOfAnotherTypeIsNone) {
  const auto source = GgufBuilder().key_u32("general.architecture", 3).source();
  const Document document = parse(*source).value();
  EXPECT_EQ(Index(document).architecture(), "");
}

}  // namespace

}  // namespace modelutils::gguf
