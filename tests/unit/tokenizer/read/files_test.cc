#include "tokenizer/read/files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"
#include "tokenizer_fixture.h"

namespace modelutils {

// Which tokenizer a directory contains, refusals, and verify's checks.

namespace {

using test::find_code;
using test::TokenizerJson;

class TokenizerFiles : public test::TokenizerFolder {};

TEST_F(TokenizerFiles, MissingNamesTheWayOut) {
  const Error nothing = error(10);
  EXPECT_EQ(nothing.code, "hf-tok-missing");
  EXPECT_NE(nothing.message.find("--no-vocab"), std::string::npos);
  EXPECT_EQ(nothing.kind, ErrorKind::input);
  dir.write("merges.txt", "a b\n");
  EXPECT_EQ(error(10).code, "hf-tok-missing") << "half a tokenizer";
  EXPECT_NE(error(10).message.find("no vocab.json"), std::string::npos);
}

TEST_F(TokenizerFiles, RefusesOtherKinds) {
  const auto with_model = [&](const std::string& model) {
    dir.write("tokenizer.json", "{\"model\":" + model + "}");
    return error(10).code;
  };
  EXPECT_EQ(with_model(R"({"type":"Unigram","unk_id":0,"vocab":[["a",0]]})"), "hf-tok-unigram") << "no Metaspace";
  EXPECT_EQ(with_model(R"({"type":"WordPiece","vocab":{"a":0}})"), "hf-tok-wordpiece") << "no BertPreTokenizer";
  EXPECT_EQ(with_model(R"({"type":"WordLevel","vocab":{"a":0}})"), "hf-tok-wordlevel");
  EXPECT_EQ(with_model(R"({"type":"Other","vocab":{"a":0}})"), "hf-tok-kind");
  EXPECT_EQ(with_model(R"({"vocab":{"a":0}})"), "hf-tok-kind");
  EXPECT_EQ(with_model(R"({"type":"BPE","vocab":{"a":0},"merges":[]})"), "hf-tok-kind") << "neither kind of BPE";
  EXPECT_EQ(
      with_model(R"({"type":"BPE","vocab":{"a":0},"merges":[],"end_of_word_suffix":"</w>","byte_fallback":true})"),
      "hf-tok-kind");
  EXPECT_EQ(with_model(R"({"type":"BPE","vocab":[],"merges":[]})"), "hf-tok-json");
  EXPECT_EQ(with_model("[]"), "hf-tok-json");
  EXPECT_EQ(with_model("null"), "hf-tok-json");
}

TEST_F(TokenizerFiles, UntypedBpeIsBpe) {
  TokenizerJson json = TokenizerJson::byte_level();
  json.type.clear();
  EXPECT_EQ(read(json, 256).kind, tokenizer::TokenizerKind::gpt2);
  json = TokenizerJson::byte_level();
  json.pre_tokenizer_json = "null";
  json.decoder_json = R"({"type":"Sequence","decoders":[{"type":"Replace"},{"type":"ByteLevel"}]})";
  EXPECT_EQ(error(json, 256).code, "hf-tok-pre-unknown") << "byte-level by its decoder";
}

TEST_F(TokenizerFiles, RefusesVocabulariesOfOtherPrograms) {
  dir.write("vocab.txt", "[PAD]\n");
  EXPECT_EQ(read(10).source, "vocab.txt");
  dir.write("qwen.tiktoken", "IQ== 0\n");
  EXPECT_EQ(error(10).code, "hf-tok-pre-unknown") << "tiktoken's file comes first, but says no regex";
}

TEST_F(TokenizerFiles, BrokenFiles) {
  dir.write("tokenizer.json", "{");
  EXPECT_EQ(error(10).code, "json-syntax");
  EXPECT_TRUE(error(10).file.ends_with("tokenizer.json"));
  dir.write("tokenizer.json", "[]");
  EXPECT_EQ(error(10).code, "hf-tok-json");
  const std::string good = TokenizerJson::byte_level().text();
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"}) {
    dir.write("tokenizer.json", good);
    dir.write(name, "{\"a\":");
    EXPECT_EQ(error(256).code, "json-syntax") << name;
    dir.write(name, "{}");
  }
  for (std::size_t size = 0; size < good.size(); size += 7) {
    dir.write("tokenizer.json", good.substr(0, size));
    EXPECT_EQ(error(256).code, "json-syntax") << size;
  }
}

// A link to itself exists, but cannot be opened even by root.
TEST_F(TokenizerFiles, UnreadableIsNotAbsent) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("tokenizer.json", TokenizerJson::byte_level().text());
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "generation_config.json", "config.json", "chat_template.jinja", "chat_template.json"}) {
    test::make_link(name, dir.file(name));
    EXPECT_EQ(error(256).code, "io-open") << name;
    EXPECT_EQ(error(256).file, dir.file(name));
    std::filesystem::remove(dir.file(name));
  }
  std::filesystem::remove(dir.file("tokenizer.json"));
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt"}) {
    test::make_link(name, dir.file(name));
    EXPECT_EQ(error(256).code, "io-open") << name;
    std::filesystem::remove(dir.file(name));
  }
}

TEST_F(TokenizerFiles, PointersOfGitLfsAreNamed) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  const auto says_so = [&](const char* name) {
    dir.write(name, pointer);
    const Error found = error(256);
    EXPECT_TRUE(found.file.ends_with(name)) << name;
    EXPECT_NE(found.message.find("Git LFS pointer"), std::string::npos) << name;
    EXPECT_EQ(found.message.find("superfluous"), std::string::npos) << "no word of JSON's grammar";
  };
  says_so("tokenizer.json");
  dir.write("tokenizer.json", TokenizerJson::byte_level().text());
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json",
                           "chat_template.json", "chat_template.jinja"}) {
    says_so(name);
    std::filesystem::remove(dir.file(name));
  }
  std::filesystem::remove(dir.file("tokenizer.json"));
  dir.write("vocab.json", R"({"a":0})");
  says_so("merges.txt");
  says_so("vocab.json");
}

TEST_F(TokenizerFiles, ABrokenGenerationConfigIsAWarning) {
  dir.write("generation_config.json", "{");
  const tokenizer::Tokenizer tokenizer = read(TokenizerJson::byte_level(), 256);
  ASSERT_NE(find_code(tokenizer.findings, "hf-generation-config"), nullptr);
  EXPECT_EQ(find_code(tokenizer.findings, "hf-generation-config")->severity, Severity::warning);
}

TEST(TokenizerSniff, FirstBytes) {
  EXPECT_TRUE(tokenizer::looks_like_sentencepiece("\x0a\x05"));
  EXPECT_FALSE(tokenizer::looks_like_sentencepiece(""));
  EXPECT_TRUE(tokenizer::looks_like_tiktoken("IQ== 0\nIg== 1\n"));
  EXPECT_TRUE(tokenizer::looks_like_tiktoken("IQ== 12"));
  EXPECT_FALSE(tokenizer::looks_like_tiktoken("IQ== x"));
  EXPECT_FALSE(tokenizer::looks_like_tiktoken(" 1"));
  EXPECT_FALSE(tokenizer::looks_like_tiktoken("version https"));
  EXPECT_FALSE(tokenizer::looks_like_tiktoken(std::string(5000, 'A')));
}

class CheckTokenizer : public TokenizerFiles {};

TEST_F(CheckTokenizer, SoundFoldersHaveNoFindings) {
  dir.write("tokenizer.json", TokenizerJson::byte_level().merge("a", "b").text());
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "");
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path(), 257)), "");
  dir.write("tokenizer.json", R"({"model":{"type":"Unigram","vocab":[]}})");
  const FindingLog unigram = tokenizer::check_tokenizer(dir.path());
  ASSERT_EQ(test::codes(unigram), "hf-tok-unigram ");
  EXPECT_EQ(unigram[0].severity, Severity::note) << "not ours to convert, but not broken";
}

TEST_F(CheckTokenizer, MissingIsAWarning) {
  const FindingLog findings = tokenizer::check_tokenizer(dir.path());
  ASSERT_EQ(test::codes(findings), "hf-tok-missing ");
  EXPECT_EQ(findings[0].severity, Severity::warning);
  EXPECT_EQ(findings[0].scope, Scope::model);
  dir.write("vocab.json", "{}");
  EXPECT_EQ(tokenizer::check_tokenizer(dir.path())[0].severity, Severity::warning);
}

TEST_F(CheckTokenizer, BrokenIsAnError) {
  dir.write("tokenizer.json", TokenizerJson::byte_level().merge("a", "b").text());
  const FindingLog range = tokenizer::check_tokenizer(dir.path(), 200);
  ASSERT_NE(find_code(range, "hf-tok-id-range"), nullptr);
  EXPECT_EQ(range[0].severity, Severity::error);
  dir.write("chat_template.json", R"({"chat_template":7})");
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "hf-tok-template ");
  dir.write("chat_template.json", "{}");
  dir.write("tokenizer.json", TokenizerJson::byte_level().merge("a", "b").text().substr(0, 100));
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "json-syntax ");
}

TEST_F(CheckTokenizer, OtherForms) {
  dir.write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  dir.write("merges.txt", "a b\n");
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "");
  dir.write("merges.txt", "a b c\n");
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "hf-tok-merge ");
  dir.write("tokenizer.model", test::sentencepiece_file({{"a", 0, 1}}));
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "");
  dir.write("tokenizer.model", "\x0a\x7f");
  EXPECT_EQ(test::codes(tokenizer::check_tokenizer(dir.path())), "hf-tok-sentencepiece ");
}

using test::find_code;

class ChatTemplate : public testing::Test {
 protected:
  tokenizer::ChatTemplates read(const std::string& config = "{}") {
    const auto document = json::parse(config, "tokenizer_config.json");
    const auto templates = tokenizer::read_chat_templates(dir.path(), (*document)->root, findings);
    if (!templates) {
      ADD_FAILURE() << templates.error().message;
      return {};
    }
    return *templates;
  }
  std::string error(const std::string& config = "{}") {
    const auto document = json::parse(config, "tokenizer_config.json");
    const auto templates = tokenizer::read_chat_templates(dir.path(), (*document)->root, findings);
    return templates ? "read" : templates.error().code;
  }
  test::TempDir dir;
  FindingLog findings;
};

TEST_F(ChatTemplate, NoneIsFine) {
  EXPECT_FALSE(read().main);
  EXPECT_TRUE(read().named.empty());
  EXPECT_TRUE(tokenizer::read_chat_templates(dir.path(), std::nullopt, findings));
}

TEST_F(ChatTemplate, VerbatimFromEachPlace) {
  EXPECT_EQ(read(R"({"chat_template":"a\n"})").main, "a\n");
  dir.write("chat_template.json", R"({"chat_template":"b"})");
  EXPECT_EQ(read().main, "b");
  dir.write("chat_template.jinja", "c\r\n\n");
  EXPECT_EQ(read().main, "c\r\n\n");
}

TEST_F(ChatTemplate, TheJinjaFileWinsAndDifferencesAreWarnedOf) {
  dir.write("chat_template.jinja", "same");
  EXPECT_EQ(read(R"({"chat_template":"same"})").main, "same");
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(read(R"({"chat_template":"other"})").main, "same");
  EXPECT_NE(find_code(findings, "hf-tok-template-differs"), nullptr);
}

// An existing but unreadable template must not be treated as missing.
TEST_F(ChatTemplate, UnreadableIsNotAbsent) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("additional_chat_templates/rag.jinja/x", "a directory in its place");
  EXPECT_EQ(error(), "io-directory");
  std::filesystem::remove_all(dir.file("additional_chat_templates"));
  test::make_link("additional_chat_templates", dir.file("additional_chat_templates"));
  EXPECT_EQ(error(), "io-open") << "ELOOP";
  std::filesystem::remove(dir.file("additional_chat_templates"));
  for (const char* name : {"chat_template.jinja", "chat_template.json"}) {
    test::make_link(name, dir.file(name));
    EXPECT_EQ(error(), "io-open") << name;
    std::filesystem::remove(dir.file(name));
    dir.write(std::string(name) + "/x", "");
    EXPECT_EQ(error(), "io-directory") << name;
    std::filesystem::remove_all(dir.file(name));
  }
  EXPECT_EQ(error(), "read");
}

TEST_F(ChatTemplate, LinksOutOfTheFolderAreRefused) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const test::TempDir elsewhere;
  elsewhere.write("t.jinja", "secret");
  test::make_link(elsewhere.path(), dir.file("additional_chat_templates"));
  EXPECT_EQ(error(), "io-link-outside");
  std::filesystem::remove(dir.file("additional_chat_templates"));
  test::make_link(elsewhere.file("t.jinja"), dir.file("chat_template.jinja"));
  EXPECT_EQ(error(), "io-link-outside");
  const ModelFolder follow(dir.path(), OutsideLinks::follow);
  EXPECT_EQ(tokenizer::read_chat_templates(follow, std::nullopt, findings)->main, "secret");
}

TEST_F(ChatTemplate, NamedTemplates) {
  dir.write("additional_chat_templates/rag.jinja", "from a file");
  dir.write("additional_chat_templates/notes.txt", "no template");
  const tokenizer::ChatTemplates templates = read(
      R"({"chat_template":[{"name":"default","template":"d"},{"name":"tool-use é","template":"t"},{"name":"rag","template":"r"},{"name":"tool use é","template":"t"},{"name":"","template":"x"}]})");
  EXPECT_EQ(templates.main, "d");
  ASSERT_EQ(templates.named.size(), 2U);
  EXPECT_EQ(templates.named[0].name, "rag");
  EXPECT_EQ(templates.named[0].text, "from a file");
  EXPECT_EQ(templates.named[1].name, "tool_use___") << "two bytes for é";
  EXPECT_EQ(templates.named[1].text, "t");
  EXPECT_EQ(test::codes(findings), "hf-tok-template-differs ") << "of rag only";
}

TEST_F(ChatTemplate, RefusesWhatIsNone) {
  EXPECT_EQ(error(R"({"chat_template":7})"), "hf-tok-template");
  EXPECT_EQ(error(R"({"chat_template":[{"name":"a"}]})"), "hf-tok-template");
  EXPECT_EQ(error(R"({"chat_template":["a"]})"), "hf-tok-template");
  EXPECT_EQ(error(R"({"chat_template":null})"), "read");
  dir.write("chat_template.jinja", "\xff");
  EXPECT_EQ(error(), "hf-tok-template");
  dir.write("chat_template.jinja", std::string((16 << 20) + 1, 'x'));
  EXPECT_EQ(error(), "hf-tok-too-large");
  dir.write("chat_template.jinja", "x");
  dir.write("chat_template.json", "[");
  EXPECT_EQ(error(), "json-syntax");
}

class TokenizerTemplates : public test::TokenizerFolder {};

TEST_F(TokenizerTemplates, ArePartOfTheTokenizer) {
  dir.write("tokenizer_config.json", R"({"chat_template":"hello"})");
  EXPECT_EQ(read(test::TokenizerJson::byte_level(), 256).templates.main, "hello");
}

}  // namespace

}  // namespace modelutils
