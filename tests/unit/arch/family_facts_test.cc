#include "arch/family_facts.h"

#include <gtest/gtest.h>

namespace modelutils::arch {

// The families' tokenizer settings, looked up by the names in config.json and in a GGUF.

namespace {

TEST(TokenizerFacts, ByClassThenByModelType) {
  EXPECT_EQ(tokenizer_facts("StableLmForCausalLM", "").pre, "stablelm2");
  EXPECT_EQ(tokenizer_facts("Cohere2ForCausalLM", "llama").pre, "command-r") << "the class wins";
  EXPECT_EQ(tokenizer_facts("LlamaForSequenceClassification", "llama").infill_vocabulary, 32016U);
  EXPECT_TRUE(tokenizer_facts("", "gemma3n_text").never_prefixes_space);
  EXPECT_EQ(tokenizer_facts("MixtralForCausalLM", "mixtral").vocabulary_without_bos, 49152U);
  EXPECT_EQ(tokenizer_facts("MixtralForCausalLM", "mixtral").infill_vocabulary, 0U);
  EXPECT_FALSE(tokenizer_facts("", "").infills_by_text);
  EXPECT_FALSE(tokenizer_facts("NoSuchModel", "none").never_prefixes_space);
}

TEST(TokenizerFacts, ByGgufArchitecture) {
  for (const char* name : {"qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3next", "qwen3vl",
                           "qwen3vlmoe", "qwen35", "qwen35moe"}) {
    EXPECT_TRUE(tokenizer_facts(name).composes) << name;
    EXPECT_EQ(tokenizer_facts(name).composes_not, "") << name;
  }
  EXPECT_TRUE(tokenizer_facts("gptneox").composes);
  EXPECT_EQ(tokenizer_facts("gptneox").composes_not, "llama-bpe");
  EXPECT_FALSE(tokenizer_facts("llama").composes);
  EXPECT_FALSE(tokenizer_facts("").composes);
}

TEST(TokenizerFacts, PreTokenizersOfModelTypes) {
  const auto of_merges = &TokenizerFacts::pre_of_merges, of_ranks = &TokenizerFacts::pre_of_ranks;
  EXPECT_EQ(pre_of_model_type(of_merges, "qwen3_moe"), "qwen2");
  EXPECT_EQ(pre_of_model_type(of_merges, "gpt2"), "gpt-2");
  EXPECT_EQ(pre_of_model_type(of_merges, "qwen"), "");
  EXPECT_EQ(pre_of_model_type(of_ranks, "qwen"), "qwen2");
  EXPECT_EQ(pre_of_model_type(of_ranks, "kimi_k2"), "kimi-k2");
  EXPECT_EQ(pre_of_model_type(of_ranks, "deepseek_v3"), "") << "a family's other model types have their own files";
  EXPECT_EQ(pre_of_model_type(of_ranks, "mistral"), "");
  EXPECT_EQ(pre_of_model_type(of_ranks, ""), "");
}

}  // namespace

}  // namespace modelutils::arch
