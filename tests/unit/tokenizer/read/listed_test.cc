#include "tokenizer/read/listed.h"

#include <gtest/gtest.h>

#include "base/escape.h"
#include "tokenizer/read/build.h"
#include "tokenizer_fixture.h"

namespace modelutils {

// tiktoken vocabularies: tokens, and the merges implied by their ranks.

namespace {

using test::find_code;
using test::number;
using tokenizer::TokenType;

class Tiktoken : public test::TokenizerFolder {};

// By rank: a, b, c, " ", ab, abc, bc. "abc" is ab + c, because "ab" has a lower rank than "bc".
constexpr std::string_view seven = "YQ== 0\nYg== 1\nYw== 2\nIA== 3\nYWI= 4\nYWJj 5\nYmM= 6\n";

TEST_F(Tiktoken, RanksAreIdsAndMakeMerges) {
  const auto vocabulary = tokenizer::parse_tiktoken(seven, 7);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message;
  EXPECT_EQ(vocabulary->tokens, (std::vector<std::string>{"a", "b", "c", "\u0120", "ab", "abc", "bc"}));
  EXPECT_EQ(vocabulary->merges, (std::vector<std::string>{"a b", "ab c", "b c"}));
  const auto other = tokenizer::parse_tiktoken("YQ== 0\nYg== 1\nYw== 2\nYmM= 4\nYWI= 5\nYWJj 6\n", 7);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->merges, (std::vector<std::string>{"b c", "a b", "a bc"})) << "now bc is joined first";
  EXPECT_EQ(other->tokens[3], "") << "a rank that is not there";
}

TEST_F(Tiktoken, RefusesOtherTexts) {
  for (const char* text : {"YQ==\n", "YQ== x\n", "YQ== 1x\n", "YQ== -1\n", "?? 1\n", " 1\n", "= 1\n",
                           "YQ== 0\nYg== 0\n", "YQ== 0\nYWI= 1\n"}) {
    const auto vocabulary = tokenizer::parse_tiktoken(text, 10);
    ASSERT_FALSE(vocabulary) << text;
    EXPECT_EQ(vocabulary.error().code, "hf-tok-tiktoken") << text;
  }
  EXPECT_EQ(tokenizer::parse_tiktoken(seven, 6).error().code, "hf-tok-id-range");
  std::string longest = "YQ== 0\n";
  longest += std::string(8192, 'A') + " 1\n";
  EXPECT_EQ(tokenizer::parse_tiktoken(longest, 10).error().code, "hf-tok-tiktoken");
}

TEST_F(Tiktoken, ADirectoryWithOne) {
  dir.write("x.tiktoken", std::string(seven));
  dir.write("tokenizer_config.json",
            R"({"eos_token":"<|end|>","added_tokens_decoder":{"7":{"content":"<|end|>","special":true}}})");
  options.pre = "qwen2";
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.kind, tokenizer::TokenizerKind::gpt2);
  EXPECT_EQ(tokenizer.source, "x.tiktoken");
  EXPECT_EQ(tokenizer.pre, "qwen2");
  EXPECT_EQ(tokenizer.tokens[5], "abc");
  EXPECT_EQ(tokenizer.types[5], number(TokenType::normal));
  EXPECT_EQ(tokenizer.types[7], number(TokenType::control));
  EXPECT_EQ(tokenizer.types[8], number(TokenType::unused));
  EXPECT_EQ(tokenizer.special.eos, 7U);
  EXPECT_EQ(find_code(tokenizer.findings.findings(), "hf-tok-tiktoken-special"), nullptr);
}

TEST_F(Tiktoken, ModelTypeNamesThePreTokenizer) {
  dir.write("qwen.tiktoken", std::string(seven));
  dir.write("config.json", R"({"architectures":["QWenLMHeadModel"],"model_type":"qwen","vocab_size":9})");
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.pre, "qwen2");
  EXPECT_NE(find_code(tokenizer.findings.findings(), "hf-tok-tiktoken-special"), nullptr);
}

}  // namespace

// tekken.json. tests/llama/tokenizers compares a real one with Hugging Face's tokenizers.

namespace {

using test::find_code;

class Tekken : public test::TokenizerFolder {
 protected:
  // Four special tokens, then a, b, " ", ab; "aba" is beyond the model's vocabulary size.
  void write() {
    std::string entries;
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
      entries += (rank == 0 ? "" : ",") + std::string(R"({"token_str":null,"token_bytes":")") + bytes[rank] +
                 R"(","rank":)" + std::to_string(rank) + "}";
    }
    dir.write("tekken.json", R"({"config":{"pattern":")" + json_escaped(pattern) + "\"," + sizes + R"(},"vocab":[)" +
                                 entries + "]" + special + "}");
  }
  static std::string json_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '\\' ? "\\\\" : std::string(1, c);
    return out;
  }
  // Returns the code and place of the error.
  std::string refused(u64 rows = 9) {
    write();
    const Error failed = error(rows);
    EXPECT_TRUE(failed.file.ends_with("tekken.json"));
    return failed.code + " " + failed.where;
  }

  std::vector<std::string> bytes = {"YQ==", "Yg==", "IA==", "YWI=", "YWJh"};
  std::string sizes = R"("default_vocab_size":8,"default_num_special_tokens":4)";
  std::string special =
      R"(,"special_tokens":[{"rank":1,"token_str":"<s>","is_control":true},)"
      R"({"rank":0,"token_str":"<unk>","is_control":true},{"rank":3,"token_str":"[x]","is_control":false}])";
  // Mistral's published pattern.
  std::string pattern = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
                        R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
                        R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
};

TEST_F(Tekken, RanksComeAfterTheSpecialTokens) {
  write();
  const tokenizer::Tokenizer tokenizer = read(9);
  EXPECT_EQ(tokenizer.kind, tokenizer::TokenizerKind::gpt2);
  EXPECT_EQ(tokenizer.source, "tekken.json");
  EXPECT_EQ(tokenizer.pre, "tekken");
  EXPECT_EQ(tokenizer.tokens,
            (std::vector<std::string>{"<unk>", "<s>", "<SPECIAL_2>", "[x]", "a", "b", "\u0120", "ab", "[PAD8]"}));
  EXPECT_EQ(tokenizer.types, (std::vector<i32>{3, 3, 3, 4, 1, 1, 1, 1, 5}));
  EXPECT_EQ(tokenizer.merges, (std::vector<std::string>{"a b"}));
  EXPECT_EQ(tokenizer.special.bos, 1U);
  EXPECT_EQ(tokenizer.special.unk, 0U);
  EXPECT_FALSE(tokenizer.special.eos);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(tokenizer.add_eos, std::nullopt);
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-pre-differs hf-tok-no-eos ");
  dir.write("tokenizer_config.json", R"({"bos_token":"[x]","add_bos_token":false})");
  EXPECT_EQ(read(9).special.bos, 3U);
  EXPECT_EQ(read(9).add_bos, false);
}

TEST_F(Tekken, OlderVersionsHaveTheUsualSpecialTokens) {
  special = "";
  write();
  EXPECT_EQ(read(8).tokens[3], "[INST]");
  EXPECT_EQ(read(8).special.eos, 2U);
  special = R"(,"special_tokens":null)";
  sizes = R"("default_vocab_size":25,"default_num_special_tokens":21)";
  write();
  const tokenizer::Tokenizer tokenizer = read(25);
  EXPECT_EQ(tokenizer.tokens[19], "[TOOL_CONTENT]");
  EXPECT_EQ(tokenizer.tokens[20], "<SPECIAL_20>");
  EXPECT_EQ(tokenizer.special.pad, 11U);
  EXPECT_TRUE(tokenizer::check_tokenizer(dir.path()).empty());
}

TEST_F(Tekken, ABrokenOneIsRefused) {
  const auto with = [&](std::string& part, const std::string& other) {
    const std::string before = std::exchange(part, other);
    std::string result = refused();
    part = before;
    return result;
  };
  EXPECT_EQ(refused(7), "hf-tok-id-range config");
  EXPECT_EQ(with(sizes, R"("default_vocab_size":8)"), "hf-tok-tekken config");
  EXPECT_EQ(with(sizes, R"("default_vocab_size":8,"default_num_special_tokens":9)"), "hf-tok-tekken config");
  EXPECT_EQ(with(sizes, R"("default_vocab_size":99999,"default_num_special_tokens":99999)"), "hf-tok-tekken config");
  EXPECT_EQ(with(sizes, R"("default_vocab_size":9,"default_num_special_tokens":3)"),
            "hf-tok-tekken special_tokens: rank 3");
  EXPECT_EQ(with(special, R"(,"special_tokens":{})"), "hf-tok-tekken special_tokens");
  EXPECT_EQ(with(special, R"(,"special_tokens":[{"rank":0}])"), "hf-tok-tekken special_tokens");
  EXPECT_EQ(with(special, R"(,"special_tokens":[{"rank":0,"token_str":""}])"), "hf-tok-tekken special_tokens: rank 0");
  EXPECT_EQ(with(special, R"(,"special_tokens":[{"rank":0,"token_str":"a"},{"rank":0,"token_str":"b"}])"),
            "hf-tok-tekken special_tokens: rank 0");
  EXPECT_EQ(with(special, R"(,"special_tokens":[{"rank":0,"token_str":"a"},{"rank":1,"token_str":"a"}])"),
            "hf-tok-tekken special_tokens: rank 1");
  EXPECT_EQ(with(pattern, "[a-z]+").substr(0, 18), "hf-tok-pre-unknown");
  EXPECT_EQ(with(bytes[1], "Yg="), "hf-tok-tekken vocab[1]");
  EXPECT_EQ(with(bytes[1], ""), "hf-tok-tiktoken vocab[1]");
  EXPECT_EQ(with(bytes[3], "eHk="), "hf-tok-tiktoken rank 3") << "x and y are no tokens";
  bytes.resize(3);
  EXPECT_EQ(refused(), "hf-tok-tekken vocab");
  dir.write("tekken.json", R"({"vocab":[]})");
  EXPECT_EQ(error(9).code, "hf-tok-tekken");
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "hf-tok-tekken ");
  const std::string head = R"({"config":{"pattern":"","default_vocab_size":2,"default_num_special_tokens":0},"vocab":)";
  dir.write("tekken.json", head + "{}}");
  EXPECT_EQ(error(9).where, "vocab");
  dir.write("tekken.json", head + R"([{"rank":0,"token_bytes":"YQ=="},{"rank":2,"token_bytes":"Yg=="}]})");
  EXPECT_NE(error(9).message.find("has 1 of the 2 ranks"), std::string::npos);
  dir.write("tekken.json", head + R"([{"rank":0,"token_bytes":"YQ=="},{"rank":0,"token_bytes":"Yg=="}]})");
  EXPECT_EQ(error(9).code, "hf-tok-tiktoken");
}

}  // namespace

// Vocabularies with one token per line: RWKV's world vocabulary and PLaMo's tokenizer.jsonl. Expected values were
// compared with llama.cpp's.

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
