// tekken.json. tests/llama/tokenizers compares a real one with Hugging Face's tokenizers.
#include "tokenizer/read/tekken.h"

#include "base/escape.h"
#include "tokenizer_fixture.h"

namespace modelutils {
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
}  // namespace modelutils
