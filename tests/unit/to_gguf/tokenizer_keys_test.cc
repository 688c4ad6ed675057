#include "to_gguf/tokenizer_keys.h"

#include <gtest/gtest.h>

#include <set>

#include "unit/to_gguf/written_keys.h"

namespace modelutils {
namespace {

using test::Written;

tokenizer::Tokenizer small(tokenizer::TokenizerKind kind) {
  tokenizer::Tokenizer tokenizer;
  tokenizer.kind = kind;
  tokenizer.tokens = {"a", "b", "ab"};
  tokenizer.types = {1, 3, 4};
  tokenizer.pre = "qwen2";
  if (kind == tokenizer::TokenizerKind::gpt2) {
    tokenizer.merges = {"a b"};
  } else {
    tokenizer.scores = {0, -1, -2.5F};
  }
  return tokenizer;
}

TEST(TokenizerKeys, ByteLevel) {
  const Written written(tokenizer_keys(small(tokenizer::TokenizerKind::gpt2)));
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(written.strings("tokenizer.ggml.tokens"), (std::vector<std::string>{"a", "b", "ab"}));
  EXPECT_EQ(written.strings("tokenizer.ggml.merges"), std::vector<std::string>{"a b"});
  EXPECT_EQ(written.element_type("tokenizer.ggml.token_type"), gguf::ValueType::i32);
  EXPECT_EQ(written.numbers<i64>("tokenizer.ggml.token_type"), (std::vector<i64>{1, 3, 4}));
  EXPECT_EQ(written.key("tokenizer.ggml.scores"), nullptr);
  EXPECT_EQ(written.key("tokenizer.ggml.add_bos_token"), nullptr) << "not known";
  EXPECT_EQ(written.key("tokenizer.chat_template"), nullptr);
  EXPECT_EQ(written.key("tokenizer.chat_templates"), nullptr);
}

TEST(TokenizerKeys, SentencePiece) {
  const Written written(tokenizer_keys(small(tokenizer::TokenizerKind::llama)));
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(written.element_type("tokenizer.ggml.scores"), gguf::ValueType::f32);
  EXPECT_EQ(written.numbers<double>("tokenizer.ggml.scores"), (std::vector<double>{0, -1, -2.5}));
  EXPECT_EQ(written.key("tokenizer.ggml.merges"), nullptr);
}

TEST(TokenizerKeys, Unigram) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::t5);
  EXPECT_EQ(Written(tokenizer_keys(tokenizer)).key("tokenizer.ggml.precompiled_charsmap"), nullptr) << "there is none";
  tokenizer.remove_extra_whitespaces = true;
  tokenizer.charsmap = "a\xff";
  const Written written(tokenizer_keys(tokenizer));
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "t5");
  EXPECT_EQ(written.numbers<double>("tokenizer.ggml.scores"), (std::vector<double>{0, -1, -2.5}));
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.remove_extra_whitespaces"), true);
  EXPECT_EQ(written.element_type("tokenizer.ggml.precompiled_charsmap"), gguf::ValueType::u8);
  EXPECT_EQ(written.numbers<i64>("tokenizer.ggml.precompiled_charsmap"), (std::vector<i64>{97, 255}));
}

TEST(TokenizerKeys, EmptyMergesAreWrittenAllTheSame) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::gpt2);
  tokenizer.merges.clear();
  const Written written(tokenizer_keys(tokenizer));
  EXPECT_TRUE(written.strings("tokenizer.ggml.merges").empty());
  EXPECT_EQ(written.element_type("tokenizer.ggml.merges"), gguf::ValueType::string);
}

TEST(TokenizerKeys, IdsAndFlags) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::gpt2);
  u32 next = 1;
  tokenizer::SpecialIds& ids = tokenizer.special;
  for (auto* id : {&ids.bos, &ids.eos, &ids.unk, &ids.sep, &ids.pad, &ids.cls, &ids.mask, &ids.eot, &ids.eom,
                   &ids.fim_pre, &ids.fim_suf, &ids.fim_mid, &ids.fim_pad, &ids.fim_rep, &ids.fim_sep}) {
    *id = next++;
  }
  tokenizer.add_bos = true;
  tokenizer.add_eos = false;
  tokenizer.add_sep = true;
  tokenizer.add_space_prefix = false;
  const Written written(tokenizer_keys(tokenizer));
  u32 expected = 1;
  for (const char* name : {"bos", "eos", "unknown", "seperator", "padding", "cls", "mask", "eot", "eom", "fim_pre",
                           "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep"}) {
    const gguf::KeyValue* key = written.key("tokenizer.ggml." + std::string(name) + "_token_id");
    ASSERT_NE(key, nullptr) << name;
    EXPECT_EQ(key->type(), gguf::ValueType::u32) << name;
    EXPECT_EQ(std::get<u32>(key->value), expected++) << name;
  }
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_bos_token"), true);
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_eos_token"), false);
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_sep_token"), true);
  EXPECT_EQ(written.index().bool_value("tokenizer.ggml.add_space_prefix"), false);
}

TEST(TokenizerKeys, Templates) {
  tokenizer::Tokenizer tokenizer = small(tokenizer::TokenizerKind::gpt2);
  tokenizer.templates.main = "{{ main }}\n";
  tokenizer.templates.named = {{"tool_use", "{{ tools }}"}, {"rag", ""}};
  const Written written(tokenizer_keys(tokenizer));
  EXPECT_EQ(written.index().string_value("tokenizer.chat_template"), "{{ main }}\n");
  EXPECT_EQ(written.index().string_value("tokenizer.chat_template.tool_use"), "{{ tools }}");
  EXPECT_EQ(written.index().string_value("tokenizer.chat_template.rag"), "");
  EXPECT_EQ(written.strings("tokenizer.chat_templates"), (std::vector<std::string>{"tool_use", "rag"}));
}

TEST(TokenizerKeys, NoVocabulary) {
  const Written written(no_vocab_keys());
  EXPECT_EQ(written.index().string_value("tokenizer.ggml.model"), "no_vocab");
}

}  // namespace
}  // namespace modelutils
