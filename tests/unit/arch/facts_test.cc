#include "arch/facts.h"

#include <gtest/gtest.h>

#include "arch/families.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/hf/config.h"
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

Facts facts_of_config(std::string_view text) {
  return read_facts(*hf::parse_config(text, "config.json"));
}

// ChatGLM's own class and transformers' share an architecture, and differ in how queries, keys and values are stored.
TEST(FamilyOfAFile, ATensorMayTell) {
  const auto name = [](const char* tensor) {
    GgufBuilder builder;
    builder.key_string("general.architecture", "chatglm").f32_tensor(tensor, {2, 2});
    const auto source = builder.source();
    const gguf::Document document = *gguf::parse(*source);
    return find_family(gguf::Index(document))->name;
  };
  EXPECT_EQ(name("blk.0.attn_qkv.weight"), "chatglm");
  EXPECT_EQ(name("blk.0.attn_q.weight"), "glm");
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

TEST(Facts, OfAnUnknownClassAreFieldsThatMostHave) {
  const Facts facts =
      facts_of_config(R"({"architectures": ["NoSuchModel"], "n_layer": 3, "d_model": 64, "n_head": [4, 4],
    "moe_k": 2, "num_hidden_layers": "x"})");
  EXPECT_EQ(facts.architecture, "");
  EXPECT_EQ(facts.layers.number(), 3u) << "a name with a text is skipped";
  EXPECT_EQ(facts.width.number(), 64u);
  EXPECT_EQ(facts.heads.number(), 4u) << "a list of equal numbers";
  EXPECT_EQ(facts.experts_used.number(), 2u);
  EXPECT_FALSE(facts.context.is_stated());
}

// Fields that config.json lacks get the class's defaults: as many key heads as heads, and all elements of a head
// rotated.
TEST(Facts, OfAKnownClassAreTheKeysOfItsGguf) {
  const Facts facts = facts_of_config(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 100,
    "rms_norm_eps": 1e-5, "max_position_embeddings": 512, "rope_theta": 10000.0, "hidden_act": "silu",
    "rope_scaling": {"type": "linear", "factor": 4.0}})");
  EXPECT_EQ(facts.architecture, "llama");
  EXPECT_EQ(facts.kv_heads.name, "llama.attention.head_count_kv");
  EXPECT_EQ(facts.kv_heads.number(), 4u);
  EXPECT_EQ(facts.key_length.number(), 16u);
  EXPECT_EQ(facts.rotated.number(), 16u);
  EXPECT_EQ(facts.rope_base.real(), 10000.0);
  EXPECT_EQ(facts.rope_scaling.text(), "linear");
  EXPECT_EQ(facts.rope_factor.real(), 4.0);
}

TEST(Facts, OfAKnownClassMayDifferByLayer) {
  const Facts facts = facts_of_config(R"({"architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2",
    "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "conv_L_cache": 3,
    "norm_eps": 1e-5, "vocab_size": 100, "max_position_embeddings": 512, "layer_types": ["conv", "full_attention"]})");
  EXPECT_EQ(facts.architecture, "lfm2");
  ASSERT_NE(facts.kv_heads.list(), nullptr);
  EXPECT_EQ(facts.kv_heads.list()->values, (std::vector<i64>{0, 2}));
  EXPECT_EQ(facts.convolution_length.number(), 3u);
}

TEST(Facts, OfAKnownClassWithoutASizeAreFields) {
  const Facts facts = facts_of_config(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "num_hidden_layers": 2, "num_key_value_heads": 2})");
  EXPECT_EQ(facts.architecture, "");
  EXPECT_EQ(facts.kv_heads.name, "num_key_value_heads");
  EXPECT_EQ(facts.kv_heads.number(), 2u);
}

}  // namespace
}  // namespace modelutils::arch
