#include "tokenizer/read/pipeline.h"

#include <gtest/gtest.h>

#include <set>

#include "arch/families.h"
#include "support/tokenizer_builder.h"
#include "tokenizer/pre_table.h"

namespace modelutils {

namespace {

using test::byte_level_json;
using test::sequence_json;
using test::split_json;

// The regexes as spelled in published files.
const std::string cl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string tekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string o200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string digits = R"({"type":"Digits","individual_digits":true})";

tokenizer::PreSignature signature_of(const std::string& pre_tokenizer) {
  const auto document = json::parse("{\"pre_tokenizer\":" + pre_tokenizer + "}", "test");
  EXPECT_TRUE(document);
  return tokenizer::pre_signature((*document)->root);
}

std::string pre_of(const std::string& pre_tokenizer, const tokenizer::PreFacts& facts = {}) {
  const auto pre = tokenizer::recognise_pre(signature_of(pre_tokenizer), facts);
  return pre ? std::string((*pre)->pre) : pre.error().code;
}

std::string split_then_bytes(const std::string& regex) {
  return sequence_json({split_json(regex), byte_level_json(false)});
}

TEST(PreTokenizer, ElementsOfASignature) {
  EXPECT_EQ(tokenizer::signature_text(signature_of("null")), "");
  EXPECT_EQ(
      tokenizer::signature_text(signature_of(sequence_json(
          {split_json("a"), split_json("b", "Removed", true), split_json("c", "Isolated", true),
           split_json("d", "MergedWithPrevious"), R"({"type":"Split","pattern":{"String":" "},"behavior":"Isolated"})",
           R"({"type":"Split"})", digits, R"({"type":"Digits"})", R"({"type":"Punctuation","behavior":"Contiguous"})",
           R"({"type":"Punctuation"})", R"({"type":"Metaspace"})", R"({"type":"Whitespace"})", R"({})",
           byte_level_json(true), R"({"type":"ByteLevel"})", byte_level_json(false)}))),
      "S(a) S(b) S:!Isolated(c) S:MergedWithPrevious(d) S( ) S:? D1 D* P P:Isolated M Whitespace ? B+ B+ B-");
}

TEST(PreTokenizer, FlattensNestedSequencesInOrder) {
  const std::string inner = sequence_json({digits, sequence_json({split_json("x")})});
  EXPECT_EQ(tokenizer::signature_text(signature_of(sequence_json({split_json("a"), inner, byte_level_json(false)}))),
            "S(a) D1 S(x) B-");
  // As deep as the JSON parser allows; our code must not recurse.
  std::string deep = digits;
  for (int i = 0; i < 300; ++i) deep = sequence_json({deep});
  EXPECT_EQ(tokenizer::signature_text(signature_of(deep)), "D1");
  // A hostile number of components is truncated.
  EXPECT_LE(signature_of(sequence_json(std::vector<std::string>(5000, digits))).size(), 256U);
}

TEST(PreTokenizer, TableRows) {
  tokenizer::PreFacts ignore;
  ignore.ignore_merges = true;
  tokenizer::PreFacts gmask = ignore;
  gmask.has_gmask = true;
  EXPECT_EQ(pre_of(split_then_bytes(cl100k), gmask), "chatglm-bpe");
  EXPECT_EQ(pre_of(split_then_bytes(cl100k), ignore), "llama-bpe");
  EXPECT_EQ(pre_of(split_then_bytes(cl100k)), "dbrx");
  EXPECT_EQ(pre_of(sequence_json({split_json(cl100k, "Removed", true), byte_level_json(false)})), "dbrx");
  EXPECT_EQ(pre_of(split_then_bytes(qwen2)), "qwen2");
  tokenizer::PreFacts stable;
  stable.of_family = "stablelm2";
  EXPECT_EQ(pre_of(split_then_bytes(qwen2), stable), "qwen2");
  stable.clean_spaces = true;
  EXPECT_EQ(pre_of(split_then_bytes(qwen2), stable), "stablelm2");
  EXPECT_EQ(pre_of(split_then_bytes(tekken), ignore), "tekken");
  EXPECT_EQ(pre_of(split_then_bytes(o200k)), "gpt-4o");
  EXPECT_EQ(
      pre_of(sequence_json({split_json(R"(\d{1,3}(?=(?:\d{3})*\b))"), split_json(o200k), byte_level_json(false)})),
      "tiny_aya");
  EXPECT_EQ(
      pre_of(split_then_bytes(
          R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")),
      "qwen35");
  EXPECT_EQ(pre_of(byte_level_json(true)), "gpt-2");
  tokenizer::PreFacts roberta;
  roberta.roberta = true;
  EXPECT_EQ(pre_of(byte_level_json(true), roberta), "roberta-bpe");
  const std::string digits_bytes = sequence_json({digits, byte_level_json(true)});
  EXPECT_EQ(pre_of(digits_bytes), "starcoder");
  tokenizer::PreFacts tidy;
  tidy.clean_spaces = false;
  EXPECT_EQ(pre_of(digits_bytes, tidy), "smollm");
  tokenizer::PreFacts cohere;
  cohere.nfc = true;
  EXPECT_EQ(pre_of(digits_bytes, cohere), "smollm");
  cohere.of_family = "command-r";
  EXPECT_EQ(pre_of(digits_bytes, cohere), "command-r");
  EXPECT_EQ(pre_of(sequence_json({R"({"type":"Punctuation","behavior":"Contiguous"})", byte_level_json(true),
                                  R"({"type":"Digits","individual_digits":false})", split_json("[0-9][0-9][0-9]")})),
            "falcon");
  const std::string bloom = split_json(" ?[^(\\s|[.,!?…。，、।۔،])]+");
  EXPECT_EQ(pre_of(sequence_json({bloom, digits, byte_level_json(false)})), "viking");
  EXPECT_EQ(pre_of(sequence_json({bloom, byte_level_json(false)})), "bloom");
  EXPECT_EQ(pre_of(sequence_json({bloom, byte_level_json(false)}), tidy), "poro-chat");
}

TEST(PreTokenizer, DeepSeekFilesHoldLiteralLineFeeds) {
  const std::string cjk = "[一-龥\u3040-ゟ゠-ヿ]+";
  const std::string words =
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
      "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
  EXPECT_EQ(
      pre_of(sequence_json({split_json("\\p{N}{1,3}"), split_json(cjk), split_json(words), byte_level_json(false)})),
      "deepseek-v3");
  const auto near = tokenizer::recognise_pre(
      signature_of(sequence_json({split_json("\\p{N}"), split_json(cjk), split_json(words), byte_level_json(false)})),
      {});
  ASSERT_FALSE(near);
  EXPECT_NE(near.error().message.find("differs from 'deepseek-v3'"), std::string::npos) << near.error().message;
  const std::string cjk_long = split_json("[一-龥ࠀ-一가-\ud7ff]+");
  EXPECT_EQ(pre_of(sequence_json({split_json("[\r\n]"), split_json("\\s?\\p{L}+"), split_json("\\s?\\p{P}+"), cjk_long,
                                  digits, byte_level_json(false)})),
            "deepseek-coder");
  EXPECT_EQ(pre_of(sequence_json({split_json("[\r\n]"), split_json("\\s?[A-Za-zµÀ-ÖØ-öø-ƺ]+"),
                                  split_json("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split_json("\\s+$"), cjk_long,
                                  digits, byte_level_json(false)})),
            "deepseek-llm");
}

TEST(PreTokenizer, EqualSplitsAreEqual) {
  const std::string gpt2 = R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";
  EXPECT_EQ(pre_of(split_then_bytes(gpt2)), "gpt-2") << "as tiktoken spells it";
  EXPECT_EQ(pre_of(sequence_json({split_json("\\p{N}"), byte_level_json(true)})), "starcoder") << "Digits as a Split";
  EXPECT_EQ(
      pre_of(split_then_bytes(
          R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\p{N}\p{L}\n\r]?(\p{L})+|[\p{Number}]| ?[^\p{L}\s\p{N}]+[\n\r]*|\s*[\r\n]|\s+(?!\S)|\s)")),
      "qwen2");
  // These are not equal: digits without a limit, contractions only in lower case.
  std::string changed = qwen2;
  changed.replace(changed.find("\\p{N}|"), 5, "\\p{N}+");
  EXPECT_EQ(pre_of(split_then_bytes(changed)), "hf-tok-pre-unknown");
  changed = qwen2;
  changed.replace(changed.find("(?i:"), 4, "(?:");
  EXPECT_EQ(pre_of(split_then_bytes(changed)), "hf-tok-pre-unknown");
}

TEST(PreTokenizer, NewerRows) {
  const std::string head = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  const std::string tail = R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string marks = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*)";
  EXPECT_EQ(pre_of(split_then_bytes(head + R"(\p{N}| ?[^\s\p{L}\p{N}\r\n]+)" + tail)), "seed-coder");
  EXPECT_EQ(
      pre_of(split_then_bytes(
          R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)")),
      "qwen2")
      << "llama.cpp's bailingmoe splits alike, and older builds do not know it";
  EXPECT_EQ(pre_of(sequence_json(
                {split_json("\\p{N}{1,3}"), split_json(head + "\\p{N}+" + marks + tail), byte_level_json(false)})),
            "minicpm5");
  EXPECT_EQ(
      pre_of(split_then_bytes(
          head + R"(\p{N}{1,3})" + marks +
          R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})")),
      "jais-2");
  EXPECT_EQ(
      pre_of(split_then_bytes(
          R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")),
      "kimi-k2");
}

TEST(PreTokenizer, UnknownSaysWhatAndWhatIsNear) {
  const auto near = tokenizer::recognise_pre(
      signature_of(split_then_bytes(
          R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")),
      {});
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code, "hf-tok-pre-unknown");
  EXPECT_NE(near.error().message.find("only in how digits are grouped"), std::string::npos) << near.error().message;
  EXPECT_NE(near.error().message.find("S(<C>|"), std::string::npos);
  EXPECT_NE(near.error().message.find("--pre NAME"), std::string::npos);
  const auto prefix =
      tokenizer::recognise_pre(signature_of(sequence_json({digits, split_json("[\r\n]"), byte_level_json(true)})), {});
  ASSERT_FALSE(prefix);
  EXPECT_NE(prefix.error().message.find("it resembles none of the known ones"), std::string::npos)
      << prefix.error().message;
  const auto longer = tokenizer::recognise_pre(signature_of(sequence_json({split_json(tekken), digits})), {});
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find("the closest known one is 'tekken'"), std::string::npos)
      << longer.error().message;
  const auto none = tokenizer::recognise_pre({}, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("(none)"), std::string::npos);
  // A hostile regex must not make the message huge.
  const auto huge = tokenizer::recognise_pre({"S(" + std::string(1 << 20, 'x') + ")"}, {});
  ASSERT_FALSE(huge);
  EXPECT_LT(huge.error().message.size(), 8000U);
}

TEST(PreTokenizer, EveryRowNamesAKnownPreTokenizer) {
  std::set<std::string_view> names;
  for (const tokenizer::PreRow& row : tokenizer::pre_table()) {
    EXPECT_TRUE(tokenizer::is_known_pre(row.pre)) << row.pre;
    names.insert(row.pre);
  }
  for (const arch::Family* family : arch::all_families()) {
    const arch::TokenizerFacts& facts = family->tokenizer;
    EXPECT_TRUE(facts.pre.empty() || names.contains(facts.pre)) << family->name;
    for (const std::string_view list : {facts.pre_of_merges, facts.pre_of_ranks}) {
      for_each_name(list, [&](std::string_view pair) {
        EXPECT_TRUE(tokenizer::is_known_pre(pair.substr(pair.find('=') + 1))) << family->name << ": " << pair;
      });
    }
  }
  EXPECT_FALSE(tokenizer::is_known_pre("llama-5"));
  EXPECT_TRUE(tokenizer::known_pre("llama-bpe")->add_bos);
  EXPECT_TRUE(tokenizer::known_pre("qwen35")->newer);
  EXPECT_FALSE(tokenizer::known_pre("qwen2")->newer);
}

}  // namespace

}  // namespace modelutils
