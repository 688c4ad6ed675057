#include "tokenizer/read/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"
#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

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
  dir.write("additional_chat_templates/rag.jinja/x", "a directory in its place");
  EXPECT_EQ(error(), "io-directory");
  std::filesystem::remove_all(dir.file("additional_chat_templates"));
  std::filesystem::create_symlink("additional_chat_templates", dir.file("additional_chat_templates"));
  EXPECT_EQ(error(), "io-open") << "ELOOP";
  std::filesystem::remove(dir.file("additional_chat_templates"));
  for (const char* name : {"chat_template.jinja", "chat_template.json"}) {
    std::filesystem::create_symlink(name, dir.file(name));
    EXPECT_EQ(error(), "io-open") << name;
    std::filesystem::remove(dir.file(name));
    dir.write(std::string(name) + "/x", "");
    EXPECT_EQ(error(), "io-directory") << name;
    std::filesystem::remove_all(dir.file(name));
  }
  EXPECT_EQ(error(), "read");
}

TEST_F(ChatTemplate, LinksOutOfTheFolderAreRefused) {
  const test::TempDir elsewhere;
  elsewhere.write("t.jinja", "secret");
  std::filesystem::create_symlink(elsewhere.path(), dir.file("additional_chat_templates"));
  EXPECT_EQ(error(), "io-link-outside");
  std::filesystem::remove(dir.file("additional_chat_templates"));
  std::filesystem::create_symlink(elsewhere.file("t.jinja"), dir.file("chat_template.jinja"));
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
