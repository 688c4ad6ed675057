// Byte-level BPE in tokenizer.json, and in vocab.json with merges.txt.
#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

using test::find_code;
using test::number;
using test::TokenizerJson;
using tokenizer::TokenType;

class ByteBpe : public test::TokenizerFolder {};

TEST_F(ByteBpe, TokensTypesMergesAndPadding) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.merge("a", "b").merge("ab", "c");
  json.added = {{258, "<|end|>", true}, {259, "<tool>\u2581call", false}, {260, "<|looks|>", false}};
  const tokenizer::Tokenizer tokenizer = read(json, 263);
  EXPECT_EQ(tokenizer.kind, tokenizer::TokenizerKind::gpt2);
  EXPECT_EQ(tokenizer.source, "tokenizer.json");
  EXPECT_EQ(tokenizer.pre, "gpt-2");
  EXPECT_EQ(tokenizer.merges, (std::vector<std::string>{"a b", "ab c"}));
  EXPECT_EQ(tokenizer.tokens[257], "abc");
  EXPECT_EQ(tokenizer.types[257], number(TokenType::normal));
  EXPECT_EQ(tokenizer.tokens[0x20], "\u0120");
  EXPECT_EQ(tokenizer.types[258], number(TokenType::control));
  EXPECT_EQ(tokenizer.tokens[259], "<tool> call");
  EXPECT_EQ(tokenizer.types[259], number(TokenType::user_defined));
  EXPECT_EQ(tokenizer.types[260], number(TokenType::control)) << "it looks special";
  EXPECT_EQ(tokenizer.tokens[261], "[PAD261]");
  EXPECT_EQ(tokenizer.types[262], number(TokenType::unused));
  EXPECT_FALSE(tokenizer.add_space_prefix);
  EXPECT_EQ(tokenizer.add_bos, false) << "always written";
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-no-eos ");
}

TEST_F(ByteBpe, MergesAsPairsAreTheSame) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.merge("\u0120", "a").merge("b", "c");
  const auto strings = read(json, 258).merges;
  json.merges_as_pairs = true;
  EXPECT_EQ(read(json, 258).merges, strings);
  EXPECT_EQ(strings[0], "\u0120 a");
  // A space inside a part is written as its byte symbol.
  json.merge("x y", "z").word("x y");
  EXPECT_EQ(read(json, 260).merges.back(), "x\u0120y z");
}

TEST_F(ByteBpe, RefusesBrokenMerges) {
  const auto with_merge = [&](const std::string& merge) {
    TokenizerJson json = TokenizerJson::byte_level();
    json.merge("a", "b");
    std::string text = json.text();
    text.replace(text.find("\"a b\""), 5, merge);
    dir.write("tokenizer.json", text);
    return error(257).code;
  };
  for (const char* merge : {"\"ab\"", "\" ab\"", "\"ab \"", "\"a b c\"", "[\"a\"]", "[\"a\",\"b\",\"c\"]", "[\"a\",1]",
                            "[\"\",\"ab\"]", "7", "null", "\"a \u0101\u0101\"", "\"a c\"", "\"\u4e00 b\""}) {
    EXPECT_EQ(with_merge(merge), "hf-tok-merge") << merge;
  }
  dir.write("tokenizer.json", R"({"model":{"type":"BPE","vocab":{},"merges":5},"decoder":{"type":"ByteLevel"}})");
  EXPECT_EQ(error(2).code, "hf-tok-merge");
}

TEST_F(ByteBpe, RefusesBrokenVocabularies) {
  const auto with_vocab = [&](const std::string& vocab) {
    dir.write("tokenizer.json", R"({"model":{"type":"BPE","vocab":)" + vocab + R"(},"decoder":{"type":"ByteLevel"}})");
    return error(4).code;
  };
  EXPECT_EQ(with_vocab("[]"), "hf-tok-json");
  EXPECT_EQ(with_vocab("null"), "hf-tok-json");
  EXPECT_EQ(with_vocab(R"({"a":-1})"), "hf-tok-vocab");
  EXPECT_EQ(with_vocab(R"({"a":1.0})"), "hf-tok-vocab");
  EXPECT_EQ(with_vocab(R"({"a":"1"})"), "hf-tok-vocab");
  EXPECT_EQ(with_vocab(R"({"a":1,"b":1})"), "hf-tok-vocab");
  EXPECT_EQ(with_vocab(R"({"a":1,"a":2})"), "hf-tok-vocab");
  EXPECT_EQ(with_vocab(R"({"a":4})"), "hf-tok-id-range");
  EXPECT_EQ(with_vocab(R"({"a":18446744073709551615})"), "hf-tok-vocab");
  EXPECT_EQ(with_vocab(R"({"a":9223372036854775807})"), "hf-tok-id-range");
}

TEST_F(ByteBpe, IdsBeyondTheEmbedding) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.word("far");
  EXPECT_EQ(error(json, 256).code, "hf-tok-id-range");
  // An added token is dropped even if model.vocab contains it, too.
  json.added = {{256, "far", true}, {300, "farther", false}, {2000000000, "x", false}};
  const tokenizer::Tokenizer tokenizer = read(json, 256);
  ASSERT_NE(find_code(tokenizer.findings, "hf-tok-id-range"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-id-range")->message.find("and 2 more"), std::string::npos);
}

TEST_F(ByteBpe, RowsMustBeSane) {
  dir.write("tokenizer.json", TokenizerJson::byte_level().text());
  EXPECT_EQ(error(0).code, "hf-tok-rows");
  EXPECT_EQ(error(u64{1} << 40).code, "hf-tok-rows");
}

TEST_F(ByteBpe, DuplicatesAndEmptyTexts) {
  TokenizerJson json = TokenizerJson::byte_level();
  // 256 is empty; 257 collides with the padding token 260; 258 has the same text as the user-defined 259.
  json.word("").word("[PAD260]").word("x y");
  json.added = {{259, "x\u2581y", false}};
  const tokenizer::Tokenizer tokenizer = read(json, 261);
  EXPECT_EQ(tokenizer.tokens[256], "[EMPTY_256]");
  EXPECT_EQ(tokenizer.tokens[257], "[PAD260]");
  EXPECT_EQ(tokenizer.tokens[260], "[DUP260]");
  EXPECT_EQ(tokenizer.types[260], number(TokenType::unused));
  EXPECT_EQ(tokenizer.tokens[259], "x y") << "the user-defined one keeps its text";
  EXPECT_EQ(tokenizer.tokens[258], "[DUP258]");
  EXPECT_EQ(tokenizer.types[258], number(TokenType::unused));
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-empty"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-duplicate"), nullptr);
}

TEST_F(ByteBpe, RenamedTokensDoNotClashEither) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.word("[DUP259]").word("[DUP259]_").word("same");
  json.added = {{259, "same", false}, {260, "same", true}};
  const tokenizer::Tokenizer tokenizer = read(json, 261);
  EXPECT_EQ(tokenizer.tokens[260], "same");
  EXPECT_EQ(tokenizer.tokens[258], "[DUP258]");
  EXPECT_EQ(tokenizer.tokens[259], "[DUP259]__");
}

TEST_F(ByteBpe, Warnings) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.vocab.erase(json.vocab.begin() + 0x41);
  json.merges = {{"a", "b"}, {"a", "b"}};
  json.vocab.emplace_back("ab", 256);
  json.pre_tokenizer_json = test::byte_level_json(true, true);
  json.normalizer_json = R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]})";
  json.ignore_merges = true;
  const tokenizer::Tokenizer tokenizer = read(json, 257);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-bytes")->message.find("A (0x41)"), std::string::npos);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-merge-twice"), nullptr);
  EXPECT_EQ(tokenizer.merges.size(), 2U) << "written as they are";
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-prefix-space"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-normalizer")->message.find("texts with capital letters"),
            std::string::npos);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-nfc"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-ignore-merges"), nullptr);
}

TEST_F(ByteBpe, AddedTokensThatTakeMoreThanTheirText) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.added = {{256, "<mask>", true}, {257, "word", false}};
  EXPECT_EQ(find_code(read(json, 258).findings, "hf-tok-strips-spaces"), nullptr);
  EXPECT_EQ(find_code(read(json, 258).findings, "hf-tok-single-word"), nullptr);
  std::string text = json.text();
  text.replace(text.find("\"lstrip\":false"), 14, "\"lstrip\":true");
  text.replace(text.rfind("\"single_word\":false"), 19, "\"single_word\":true");
  dir.write("tokenizer.json", text);
  const tokenizer::Tokenizer tokenizer = read(258);
  ASSERT_NE(find_code(tokenizer.findings, "hf-tok-strips-spaces"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-strips-spaces")->message.find("before '<mask>'"), std::string::npos);
  ASSERT_NE(find_code(tokenizer.findings, "hf-tok-single-word"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-single-word")->message.find("'word'"), std::string::npos);
}

TEST_F(ByteBpe, PreTokenizersThatAreNotQuiteTheSame) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.pre_tokenizer_json = test::sequence_json(
      {test::split_json(
           R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
       test::byte_level_json(false)});
  const tokenizer::Tokenizer tokenizer = read(json, 256);
  EXPECT_EQ(tokenizer.pre, "tekken");
  ASSERT_NE(find_code(tokenizer.findings, "hf-tok-pre-differs"), nullptr);
  EXPECT_NE(find_code(tokenizer.findings, "hf-tok-pre-differs")->message.find("combining marks"), std::string::npos);
}

TEST_F(ByteBpe, ByteSymbolsMayBeAddedTokens) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.vocab.erase(json.vocab.begin() + 0x41);
  json.added = {{0x41, "A", false}};
  EXPECT_EQ(find_code(read(json, 256).findings, "hf-tok-bytes"), nullptr);
}

TEST_F(ByteBpe, PreIsChosenByHand) {
  TokenizerJson json = TokenizerJson::byte_level();
  options.pre = "qwen35";
  const tokenizer::Tokenizer newer = read(json, 256);
  EXPECT_EQ(newer.pre, "qwen35") << "overrides a match";
  ASSERT_NE(find_code(newer.findings, "hf-tok-pre-new"), nullptr);
  EXPECT_EQ(find_code(newer.findings, "hf-tok-pre-new")->severity, Severity::note);
  options.pre = "qwen99";
  EXPECT_EQ(error(256).kind, ErrorKind::usage);
  options.pre_force = "qwen99";
  EXPECT_EQ(read(256).pre, "qwen99");
  options = {};
  json.pre_tokenizer_json = R"({"type":"Whitespace"})";
  const Error unknown = error(json, 256);
  EXPECT_EQ(unknown.code, "hf-tok-pre-unknown");
  EXPECT_TRUE(unknown.file.ends_with("tokenizer.json"));
  options.pre = "gpt-2";
  EXPECT_EQ(read(json, 256).pre, "gpt-2");
}

TEST_F(ByteBpe, FactsForThePreTokenizer) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.pre_tokenizer_json =
      test::sequence_json({R"({"type":"Digits","individual_digits":true})", test::byte_level_json(true)});
  dir.write("config.json", R"({"architectures":["CohereForCausalLM"]})");
  dir.write("tokenizer_config.json", R"({"clean_up_tokenization_spaces":false})");
  EXPECT_EQ(read(json, 256).pre, "command-r");
  json.pre_tokenizer_json = test::byte_level_json(true);
  json.post_processor_json = R"({"type":"RobertaProcessing","sep":["</s>",2],"cls":["<s>",0]})";
  EXPECT_EQ(read(json, 256).pre, "roberta-bpe");
}

TEST_F(ByteBpe, FromVocabAndMerges) {
  const TokenizerJson json = TokenizerJson::byte_level().merge("a", "b").merge("ab", "c").word("<|endoftext|>");
  std::string vocab = "{";
  for (const auto& [text, id] : json.vocab)
    vocab += (id ? "," : "") + test::json_quoted(text) + ":" + std::to_string(id);
  dir.write("vocab.json", vocab + "}");
  dir.write("merges.txt", "#version: 0.2\r\na b\r\n\nab\tc\n");
  dir.write("config.json", R"({"model_type":"qwen2","bos_token_id":258,"eos_token_id":258})");
  dir.write("added_tokens.json", R"({"<|im_end|>":259,"<think>":260})");
  const tokenizer::Tokenizer tokenizer = read(262);
  EXPECT_EQ(tokenizer.source, "vocab.json");
  EXPECT_EQ(tokenizer.pre, "qwen2");
  EXPECT_EQ(tokenizer.merges, (std::vector<std::string>{"a b", "ab c"}));
  EXPECT_EQ(tokenizer.special.eos, 258U);
  EXPECT_EQ(tokenizer.types[258], number(TokenType::control)) << "it is the eos";
  EXPECT_EQ(tokenizer.types[259], number(TokenType::control));
  EXPECT_EQ(tokenizer.types[260], number(TokenType::user_defined));
  EXPECT_EQ(tokenizer.tokens[261], "[PAD261]");
  dir.write("config.json", R"({"model_type":"llama"})");
  EXPECT_EQ(error(262).code, "hf-tok-pre-unknown");
  options.pre = "llama-bpe";
  EXPECT_EQ(read(262).pre, "llama-bpe");
  for (const char* merges : {"a\n", "a b c\n", "a \xff\n", "a zz\n", "# one\n# two\n"}) {
    dir.write("merges.txt", merges);
    EXPECT_EQ(error(262).code, "hf-tok-merge") << merges;
  }
  dir.write("merges.txt", "");
  EXPECT_NE(find_code(read(262).findings, "hf-tok-no-merges"), nullptr);
}

}  // namespace
}  // namespace modelutils
