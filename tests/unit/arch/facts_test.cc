#include "arch/facts.h"

#include <gtest/gtest.h>

#include "gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils::arch {
namespace {

using test::GgufBuilder;

Facts facts_of_file(const GgufBuilder& builder) {
  gguf::SplitSet set;
  const auto source = builder.source();
  set.files.push_back({"m.gguf", source, *gguf::parse(*source)});
  return *read_facts(set);
}

TEST(Facts, HaveTheFormInWhichAKeyStatesThem) {
  GgufBuilder builder;
  builder.key_string("general.architecture", "llama")
      .key_u32("llama.block_count", 2)
      .key_i32("llama.context_length", -1)
      .key_bool("llama.expert_count", 1)
      .key_f32("llama.rope.freq_base", 0.5f)
      .key_string("llama.rope.scaling.type", "yarn")
      .key_array<i32>("llama.attention.head_count", {4, -2})
      .key_array<u8>("other.block_count", {3});
  const Facts facts = facts_of_file(builder);
  EXPECT_EQ(facts.architecture, "llama");
  EXPECT_EQ(facts.layers.name, "llama.block_count");
  EXPECT_EQ(facts.layers.number(), 2u);
  EXPECT_FALSE(facts.layers.flag() || facts.layers.real() || facts.layers.text() || facts.layers.list());
  EXPECT_TRUE(facts.context.is_stated());
  EXPECT_FALSE(facts.context.number()) << "negative";
  EXPECT_EQ(facts.experts.flag(), true);
  EXPECT_FALSE(facts.experts.number());
  EXPECT_EQ(facts.rope_base.real(), 0.5);
  EXPECT_EQ(facts.rope_scaling.text(), "yarn");
  ASSERT_NE(facts.heads.list(), nullptr);
  EXPECT_EQ(facts.heads.list()->length, 2u);
  EXPECT_TRUE(facts.heads.list()->is_numeric && facts.heads.list()->is_whole);
  EXPECT_EQ(facts.heads.list()->values, (std::vector<i64>{4, -2}));
  EXPECT_FALSE(facts.width.is_stated());
  EXPECT_EQ(facts.width.name, "llama.embedding_length");
}

TEST(Facts, KnowWhatAListHolds) {
  GgufBuilder builder;
  builder.key_string("general.architecture", "llama")
      .key_array<float>("llama.attention.head_count", {1.5f})
      .key_strings("llama.attention.head_count_kv", {"a", "b"})
      .key_array<u32>("llama.feed_forward_length", std::vector<u32>(5000, 7))
      .key_strings("tokenizer.ggml.tokens", {"a", "b", "c"});
  const Facts facts = facts_of_file(builder);
  EXPECT_TRUE(facts.heads.list()->is_numeric);
  EXPECT_FALSE(facts.heads.list()->is_whole);
  EXPECT_FALSE(facts.kv_heads.list()->is_numeric);
  EXPECT_EQ(facts.kv_heads.list()->length, 2u);
  EXPECT_TRUE(facts.kv_heads.list()->values.empty());
  EXPECT_EQ(facts.feed_forward.list()->length, 5000u);
  EXPECT_EQ(facts.feed_forward.list()->values.size(), 4096u) << "no model has as many layers";
  EXPECT_EQ(facts.tokens, 3u);
}

}  // namespace
}  // namespace modelutils::arch
