// Vocabularies with one token per line: RWKV's world vocabulary and PLaMo's tokenizer.jsonl. Expected values were
// compared with llama.cpp's.
#include <gtest/gtest.h>

#include "tokenizer/read/build.h"
#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

using tokenizer::python_literal;
using tokenizer::TokenizerKind;
using tokenizer::TokenType;

TEST(PythonLiterals, AreWhatReprWrites) {
  EXPECT_EQ(python_literal(R"('the')"), "the");
  EXPECT_EQ(python_literal(R"("it's")"), "it's");
  EXPECT_EQ(python_literal(R"('\'"\\\t\n\r')"), "'\"\\\t\n\r");
  EXPECT_EQ(python_literal(R"('\x7f\xe9\u200b\U0001f600')"), "\x7f\xc3\xa9\xe2\x80\x8b\xf0\x9f\x98\x80");
  EXPECT_EQ(python_literal("'日本'"), "日本");
  EXPECT_EQ(python_literal(R"(b'\xff\x00"')"), std::string("\xff\x00\"", 3));
  EXPECT_EQ(python_literal("''"), "");
}

TEST(PythonLiterals, AnythingElseIsNone) {
  for (const char* text : {"", "'", "the", "'a", "'a\"", "'a'b'", R"('\q')", R"('\')", R"('\x4')", R"('\xzz')",
                           R"('\u12')", R"('\ud800')", R"('\U00110000')", R"(b'\u0041')", "b'日'", "'\\"}) {
    EXPECT_FALSE(python_literal(text)) << text;
  }
}

class ListedTokenizers : public test::TokenizerFolder {};

TEST_F(ListedTokenizers, TheWorldVocabularyIsEscapedAndBeginsWithTheEndOfText) {
  dir.write("rwkv_vocab_v20230424.txt",
            "1 '\\x00' 1\n2 b'\\xff' 1\n3 'a b' 3\n4 '\\n\\n' 2\n5 '\\t\\\\' 2\n7 \"é'\" 3\n");
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.kind, TokenizerKind::rwkv);
  EXPECT_EQ(tokenizer.source, "rwkv_vocab_v20230424.txt");
  EXPECT_EQ(tokenizer.tokens, (std::vector<std::string>{"<s>", "\\x00", "\\xff", "a b", "\\n\\n", "\\t\\\\", "[PAD6]",
                                                        "\\xc3\\xa9'", "[PAD8]"}));
  EXPECT_EQ(tokenizer.types, (std::vector<i32>{3, 1, 1, 1, 1, 1, 5, 1, 5}));
  EXPECT_EQ(tokenizer.pre, "");
  EXPECT_EQ(tokenizer.special.bos, 0U);
  EXPECT_EQ(tokenizer.special.eos, 0U);
  EXPECT_EQ(tokenizer.special.eot, 4U);
  EXPECT_FALSE(tokenizer.add_space_prefix);
}

TEST_F(ListedTokenizers, ABrokenWorldVocabularyIsRefusedByLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 'a' 1\n2 'b'\n", "hf-tok-rwkv"},    {"1 'a' 1\n2 b 1\n", "hf-tok-rwkv"},
      {"1 'a' 1\n2 'b' 2\n", "hf-tok-rwkv"},  {"1 'a' 1\n1 'b' 1\n", "hf-tok-rwkv"},
      {"1 'a' 1\n0 'b' 1\n", "hf-tok-rwkv"},  {"1 'a' 1\nx 'b' 1\n", "hf-tok-rwkv"},
      {"1 'a' 1\n2 'b' 1x\n", "hf-tok-rwkv"}, {"1 'a' 1\n9 'b' 1\n", "hf-tok-id-range"},
      {"1 'a' 1\n-1 'b' 1\n", "hf-tok-rwkv"},
  };
  for (const auto& [text, code] : cases) {
    dir.write("rwkv_vocab.txt", text);
    const Error failed = error(9);
    EXPECT_EQ(failed.code, code) << text;
    EXPECT_EQ(failed.where, "line 2") << text;
    EXPECT_TRUE(failed.file.ends_with("rwkv_vocab.txt"));
    options.embedding_rows = 9;
    const FindingLog log = tokenizer::check_tokenizer(dir.path(), 9);
    ASSERT_EQ(log.size(), 1U) << text;
    EXPECT_EQ(log.findings()[0].code, code);
  }
}

TEST_F(ListedTokenizers, PlamoHasTextsScoresAndTypes) {
  dir.write("tokenizer.jsonl",
            "[\"<|plamo:unk|>\", 0.0, \"UNKNOWN\", 1]\n[\"<|plamo:bos|>\", 0, \"CONTROL\"]\n\n"
            "[\"<|plamo:eos|>\", 0, \"NORMAL\"]\r\n[\"<0x00>\", -100, \"BYTE\"]\n[\"x\", -1.5, \"NORMAL\"]\n"
            "[\"y\", -2.5, \"UNUSED\"]\n");
  dir.write("tokenizer_config.json",
            R"({"bos_token": "<|plamo:bos|>", "eos_token": "<|plamo:eos|>", "unk_token": "<|plamo:unk|>",
                "add_bos_token": true})");
  const tokenizer::Tokenizer tokenizer = read(7);
  EXPECT_EQ(tokenizer.kind, TokenizerKind::plamo2);
  EXPECT_EQ(tokenizer.tokens, (std::vector<std::string>{"<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<0x00>",
                                                        "x", "y", "[PAD6]"}));
  EXPECT_EQ(tokenizer.types, (std::vector<i32>{2, 3, 3, 6, 1, 5, 5}));
  EXPECT_EQ(tokenizer.scores, (std::vector<float>{0, 0, 0, -100, -1.5F, -2.5F, -10000}));
  EXPECT_EQ(tokenizer.pre, "default");
  EXPECT_EQ(tokenizer.add_space_prefix, false);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.special.bos, 1U);
  EXPECT_EQ(tokenizer.special.eos, 2U);
  EXPECT_EQ(tokenizer.special.unk, 0U);
  EXPECT_EQ(test::codes(tokenizer.findings.findings()), "hf-tok-bytes ");
}

TEST_F(ListedTokenizers, ABrokenPlamoListIsRefusedByLine) {
  for (const char* line :
       {"{}", "[]", "[\"a\", 1]", "[1, 1, \"NORMAL\"]", "[\"a\", \"b\", \"NORMAL\"]", "[\"a\", 1, 2]"}) {
    dir.write("tokenizer.jsonl", "[\"a\", 1, \"NORMAL\"]\n" + std::string(line) + "\n");
    EXPECT_EQ(error(9).code, "hf-tok-plamo") << line;
    EXPECT_EQ(error(9).where, "line 2") << line;
    const FindingLog log = tokenizer::check_tokenizer(dir.path());
    ASSERT_FALSE(log.empty()) << line;
    EXPECT_EQ(log.findings()[0].code, "hf-tok-plamo");
  }
  dir.write("tokenizer.jsonl", "[\"a\", 1, \"NORMAL\"\n");
  EXPECT_EQ(error(9).code, "json-syntax");
  dir.write("tokenizer.jsonl", "[\"a\", 1, \"NORMAL\"]\n[\"b\", 1, \"NORMAL\"]\n");
  EXPECT_EQ(error(1).code, "hf-tok-id-range");
}

}  // namespace
}  // namespace modelutils
