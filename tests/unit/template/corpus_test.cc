// Real and small templates, compared with Jinja2 as configured by transformers (../shared/corpus/templates).
#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"
#include "support/time_zone.h"
#include "template/render.h"
#include "template_fixture.h"

namespace modelutils {
namespace {

class TemplateCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    test::use_utc();  // as in the reference renderings
    auto document = json::load(folder + "/expected.json");
    if (!document) GTEST_SKIP() << test::skip_reason();
    document_ = std::move(*document);
  }

  json::Element member(const char* name) const { return *json::member(document_->root, name); }

  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Returns the text, or a failure of the kind that transformers would report.
  Result<std::string> render(const std::string& source, json::Element variables, bool with_tokens) const {
    MU_ASSIGN(const jinja::Template parsed, jinja::parse(source));
    jinja::RenderRequest request;
    i64 now = 0;
    EXPECT_TRUE(member("now").get(now));
    request.now = now;
    const auto add = [&](json::Element from) {
      json::Object object;
      EXPECT_TRUE(from.get(object));
      for (const json::Member one : object) request.variables.emplace_back(std::string(one.key), one.value);
    };
    add(variables);
    if (with_tokens) {
      add(member("special_tokens"));
      request.variables.emplace_back("tools", nullptr);
      request.variables.emplace_back("documents", nullptr);
      request.variables.emplace_back("add_generation_prompt", false);
    }
    return jinja::render(parsed, request);
  }

  // Returns what is wrong with a result; empty if it is correct.
  static std::string judged(const Result<std::string>& result, json::Element expected, bool may_be_refused) {
    const auto text = json::string_member(expected, "text");
    if (result) {
      if (!text) return fmt::format("rendered '{}' where transformers raises", *result);
      return *result == *text ? "" : fmt::format("rendered\n{}\ninstead of\n{}", *result, *text);
    }
    const bool is_refused = result.error().code == "template-unsupported" || result.error().code == "template-limit";
    const std::string shown =
        fmt::format("{}: {} ({})", result.error().code, result.error().message, result.error().where);
    if (text) return is_refused && may_be_refused ? "" : shown;
    const auto kind = json::string_member(expected, "kind").value_or("");
    if (kind == "raised") {
      const auto message = json::string_member(expected, "error").value_or("");
      return result.error().code == "template-raised" && result.error().message == message ? "" : shown;
    }
    if (kind == "syntax") return result.error().code == "template-syntax" ? "" : shown;
    return result.error().code == "template-error" ? "" : shown;
  }

  const std::string folder = test::shared_dir() + "/corpus/templates";

 private:
  std::unique_ptr<json::Document> document_;
};

TEST_F(TemplateCorpus, RealTemplatesRenderByteForByte) {
  std::size_t count = 0;
  json::Object templates;
  json::Object conversations;
  ASSERT_TRUE(member("templates").get(templates));
  ASSERT_TRUE(member("conversations").get(conversations));
  for (const json::Member one : templates) {
    const std::string source = text_of(folder + "/real/" + std::string(one.key));
    json::Object renders;
    ASSERT_TRUE(json::member(one.value, "renders")->get(renders));
    for (const json::Member expected : renders) {
      const auto result = render(source, *conversations.find(expected.key), true);
      EXPECT_EQ(judged(result, expected.value, false), "") << one.key << ", " << expected.key;
      ++count;
    }
  }
  EXPECT_GE(count, 700u);
}

TEST_F(TemplateCorpus, CapabilitiesAreFound) {
  std::size_t right = 0;
  std::size_t count = 0;
  json::Object templates;
  ASSERT_TRUE(member("templates").get(templates));
  for (const json::Member one : templates) {
    const auto parsed = jinja::parse(text_of(folder + "/real/" + std::string(one.key)));
    ASSERT_TRUE(parsed);
    const jinja::Capabilities can = jinja::capabilities(*parsed);
    const json::Element expected = *json::member(one.value, "capabilities");
    const std::pair<const char*, bool> found[] = {
        {"system", can.system}, {"tools", can.tools}, {"thinking", can.thinking}, {"multimodal", can.multimodal}};
    for (const auto& [name, value] : found) {
      const bool is_right = json::bool_member(expected, name) == value;
      right += is_right ? 1 : 0;
      ++count;
    }
  }
  EXPECT_GE(count, 200u);
  EXPECT_GE(100 * right, 95 * count) << right << " of " << count;
}

TEST_F(TemplateCorpus, SmallTemplatesRenderByteForByte) {
  json::Array cases;
  ASSERT_TRUE(member("engine").get(cases));
  for (const json::Element one : cases) {
    const std::string source(*json::string_member(one, "template"));
    const auto result = render(source, member("engine_variables"), false);
    const bool is_exotic = json::bool_member(one, "exotic").value_or(false);
    EXPECT_EQ(judged(result, one, is_exotic), "") << source;
  }
}

TEST_F(TemplateCorpus, AttacksRenderNothingElseThanJinjaDoes) {
  json::Array cases;
  ASSERT_TRUE(member("attacks").get(cases));
  for (const json::Element one : cases) {
    const std::string source(*json::string_member(one, "template"));
    const auto result = render(source, *json::member(member("conversations"), "user"), true);
    if (const auto expected = json::member(one, "result")) {
      EXPECT_EQ(judged(result, *expected, true), "") << source;
    } else {
      EXPECT_FALSE(result) << source.substr(0, 100);
    }
  }
}

}  // namespace
}  // namespace modelutils
