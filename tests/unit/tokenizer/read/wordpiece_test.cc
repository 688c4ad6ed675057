// WordPiece tokenizers. Expected values follow llama.cpp's converter (conversion of BertModel) and loader.
#include <gtest/gtest.h>

#include "tokenizer/tokenizer.h"
#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

using test::codes;
using test::find_code;
using tokenizer::TokenizerKind;

using Types = std::vector<i32>;

class WordPiece : public test::TokenizerFolder {
 protected:
  void write_json(const std::string& normalizer, const std::string& more = R"(,"unk_token":"[UNK]")",
                  const std::string& pre_tokenizer = R"({"type":"BertPreTokenizer"})") {
    dir.write("tokenizer.json",
              R"({"added_tokens":[{"id":0,"content":"[PAD]","special":true},{"id":6,"content":"[X]"}],"normalizer":)" +
                  normalizer + R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"post_processor":)" + post_processor +
                  R"(,"model":{"type":"WordPiece")" + more +
                  R"(,"vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4,"##b":5}}})");
  }
  std::string post_processor = R"({"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]})";
};

constexpr const char* uncased =
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})";

TEST_F(WordPiece, OfTokenizerJson) {
  write_json(uncased);
  const tokenizer::Tokenizer tokenizer = read(8);
  EXPECT_EQ(tokenizer.kind, TokenizerKind::bert);
  EXPECT_EQ(tokenizer::tokenizer_kind_name(tokenizer.kind), "bert");
  EXPECT_EQ(tokenizer.pre, "");
  EXPECT_EQ(tokenizer.tokens,
            (std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581a", "b", "[X]", "[PAD7]"}));
  EXPECT_EQ(tokenizer.types, (Types{3, 3, 3, 3, 1, 1, 4, 5}));
  EXPECT_EQ(tokenizer.lowercase, true);
  EXPECT_EQ(tokenizer.strip_accents, std::nullopt);
  const tokenizer::SpecialIds& ids = tokenizer.special;
  EXPECT_EQ(ids.bos, 2U);
  EXPECT_EQ(ids.eos, 3U);
  EXPECT_EQ(ids.unk, 1U);
  EXPECT_EQ(ids.sep, 3U);
  EXPECT_EQ(ids.pad, 0U);
  EXPECT_EQ(ids.mask, std::nullopt) << "not in the vocabulary";
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.add_eos, true);
  EXPECT_EQ(codes(tokenizer.findings), "hf-tok-wordpiece-differs ");
}

TEST_F(WordPiece, NormalizersThatLlamaCppHas) {
  const auto flags = [&](const std::string& normalizer) {
    write_json(normalizer);
    const tokenizer::Tokenizer tokenizer = read(7);
    const std::optional<bool> strips = tokenizer.strip_accents;
    return std::string(*tokenizer.lowercase ? "lower " : "cased ") + (!strips ? "null" : *strips ? "strip" : "keep");
  };
  EXPECT_EQ(flags("null"), "cased keep");
  EXPECT_EQ(flags(R"({"type":"Lowercase"})"), "lower keep");
  EXPECT_EQ(flags(R"({"type":"BertNormalizer","lowercase":false,"strip_accents":true})"), "cased strip");
  const std::string of_three = test::sequence_json(
      {R"({"type":"NFD"})", R"({"type":"Lowercase"})", R"({"type":"StripAccents"})"}, "normalizers");
  EXPECT_EQ(flags(of_three), "lower strip");
  EXPECT_EQ(codes(read(7).findings), "hf-tok-wordpiece-differs ");
  EXPECT_EQ(flags(R"({"type":"NFD"})"), "cased keep");
  EXPECT_EQ(codes(read(7).findings), "hf-tok-normalizer hf-tok-wordpiece-differs ");
  write_json(R"({"type":"BertNormalizer","handle_chinese_chars":false})");
  const Finding* chinese = find_code(read(7).findings, "hf-tok-wordpiece-differs");
  ASSERT_NE(chinese, nullptr);
}

TEST_F(WordPiece, WhatLlamaCppCannotFollow) {
  write_json(uncased, "", R"({"type":"WhitespaceSplit"})");
  EXPECT_EQ(error(7).code, "hf-tok-wordpiece");
  write_json(uncased, "", "null");
  EXPECT_EQ(error(7).where, "pre_tokenizer");
  write_json(uncased, R"(,"continuing_subword_prefix":"")");
  EXPECT_EQ(error(7).code, "hf-tok-wordpiece");
  write_json(uncased);
  EXPECT_EQ(error(5).code, "hf-tok-id-range");
}

TEST_F(WordPiece, AnotherPrefixContinuesWords) {
  write_json(uncased, R"(,"continuing_subword_prefix":"#")");
  EXPECT_EQ(read(7).tokens[5], "#b");
}

TEST_F(WordPiece, OfLines) {
  dir.write("vocab.txt", "[PAD]\r\n[CLS]\n[SEP]\n\n[UNK]\na\n##b\n[MASK]");
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.source, "vocab.txt");
  EXPECT_EQ(tokenizer.tokens, (std::vector<std::string>{"[PAD]", "[CLS]", "[SEP]", "\u2581", "[UNK]", "\u2581a", "b",
                                                        "[MASK]", "[PAD8]"}));
  EXPECT_EQ(tokenizer.types, (Types{3, 3, 3, 1, 3, 1, 1, 3, 5}));
  EXPECT_EQ(tokenizer.special.bos, 1U);
  EXPECT_EQ(tokenizer.special.eos, 2U);
  EXPECT_EQ(tokenizer.special.sep, 2U);
  EXPECT_EQ(tokenizer.special.cls, 1U);
  EXPECT_EQ(tokenizer.special.unk, 4U);
  EXPECT_EQ(tokenizer.special.mask, 7U);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.add_eos, true);
  EXPECT_EQ(tokenizer.lowercase, true) << "the class's default";
  EXPECT_EQ(error(7).code, "hf-tok-id-range");
  EXPECT_EQ(error(7).where, "line 8");

  dir.write("tokenizer_config.json",
            R"({"tokenizer_class":"BertTokenizer","do_lower_case":false,"strip_accents":true,"cls_token":"a"})");
  EXPECT_EQ(read(9).lowercase, false);
  EXPECT_EQ(read(9).strip_accents, true);
  EXPECT_EQ(read(9).special.bos, 5U);
  EXPECT_EQ(read(9).tokens[5], "a") << "special tokens are not marked";
  dir.write("tokenizer_config.json", R"({"tokenizer_class":"BertJapaneseTokenizer"})");
  EXPECT_EQ(error(9).code, "hf-tok-wordpiece");
  dir.write("tokenizer_config.json", "{}");
  dir.write("vocab.txt", "a\n\xff\n");
  EXPECT_EQ(error(9).code, "hf-tok-vocab");
}

}  // namespace
}  // namespace modelutils
