#include "report/html/html_page.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"
#include "report/html/model_page.h"

namespace modelutils {
namespace {

std::string embedded(std::string_view json) {
  std::string out;
  EmbeddedJson(out).append(json);
  return out;
}

// The same, fed one byte at a time.
std::string embedded_by_bytes(std::string_view json) {
  std::string out;
  EmbeddedJson data(out);
  for (std::size_t i = 0; i < json.size(); ++i) data.append(json.substr(i, 1));
  return out;
}

std::string as_json(std::string_view text) {
  json::Writer writer;
  writer.begin_object();
  writer.member("t", text);
  writer.end_object();
  return writer.text();
}

std::string text_of(const std::string& json) {
  const auto document = json::parse(json, "test");
  std::string_view text;
  EXPECT_TRUE(document && json::member((*document)->root, "t").value().get(text)) << json;
  return std::string(text);
}

TEST(EmbeddedJson, NoTextEndsTheElement) {
  for (const std::string_view text :
       {"</script>", "<!--", "-->", "<script>", "]]>", "&lt;", "a < b && c > d", "\\</script>"}) {
    const std::string json = embedded(as_json(text));
    EXPECT_EQ(json.find_first_of("<>&"), json.npos) << json;
    EXPECT_EQ(text_of(json), text);
  }
}

TEST(EmbeddedJson, MarkupIsSpelledAsEscapes) {
  EXPECT_EQ(embedded(R"({"<a>":"b&c"})"), R"({"\u003ca\u003e":"b\u0026c"})");
}

TEST(EmbeddedJson, TextsThatEndInBackslashesAndQuotes) {
  for (const std::string_view text : {"\\", "\\\\", "\"", "\\\"", "a\\\"<", "\n\t", "\u202e", "Grüße, 世界 🙂"}) {
    EXPECT_EQ(text_of(embedded(as_json(text))), text);
    EXPECT_EQ(embedded_by_bytes(as_json(text)), embedded(as_json(text)));
  }
}

TEST(EmbeddedJson, LinesBecomeElements) {
  EXPECT_EQ(embedded("{\"a\":1}\n{\"b\":\"x\"}\n"), "{\"a\":1},\n{\"b\":\"x\"}");
  std::string out;
  EmbeddedJson data(out);
  data.append("{}\n");
  data.append("{}\n");
  EXPECT_EQ(out, "{},\n{}");
}

TEST(EmbeddedJson, LongTextsAreCutAndSaySo) {
  const auto most = static_cast<std::size_t>(EmbeddedJson::most_characters);
  EXPECT_EQ(text_of(embedded(as_json(std::string(most, 'x')))), std::string(most, 'x'));
  EXPECT_EQ(text_of(embedded(as_json(std::string(most + 1234, 'x')))),
            std::string(most, 'x') + "… (1,234 more characters)");
  // Multi-byte characters and escapes are not split, and the text after a truncated one starts afresh.
  std::string wide, controls;
  for (std::size_t i = 0; i < most + 2; ++i) {
    wide += "世";
    controls += '\x01';
  }
  EXPECT_EQ(text_of(embedded(as_json(wide))), wide.substr(0, 3 * most) + "… (2 more characters)");
  EXPECT_EQ(text_of(embedded(as_json(controls))), controls.substr(0, most) + "… (2 more characters)");
  EXPECT_EQ(embedded("[\"" + std::string(most + 1, 'x') + "\",\"<\"]").substr(most + 2),
            "… (1 more character)\",\"\\u003c\"]");
}

TEST(HtmlPage, IsOneFileWithAPolicy) {
  std::string html;
  HtmlPage page([&](std::string_view piece) -> Status {
    html += piece;
    return {};
  });
  ASSERT_TRUE(page.add([](TextOutput& out) -> Status {
    out << "{\"a\":\"</script>\"}\n";
    return {};
  }));
  ASSERT_TRUE(page.finish());
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>\n"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_NE(html.find("<script type=\"application/json\" id=\"data\">[\n{\"a\":\"\\u003c/script\\u003e\"}\n]</script>"),
            html.npos);
  // The text between the tags must match the hashes in the policy.
  const auto between = [&](std::string_view begin, std::string_view end) {
    const std::size_t at = html.find(begin) + begin.size();
    return html.substr(at, html.find(end, at) - at);
  };
  const std::string style = between("<style>", "</style>"), script = between("<script>", "</script>");
  EXPECT_NE(html.find("content=\"" + content_security_policy(style, script) + "\""), html.npos);
  EXPECT_GT(script.size(), 10000U);
  EXPECT_EQ(script.find("<!--"), script.npos);
  for (const std::string_view outside :
       {"http://", "https://", "@import", "url(", "eval(", "innerHTML", "insertAdjacentHTML"}) {
    std::string_view all(html);
    for (std::size_t at = all.find(outside); at != all.npos; at = all.find(outside, at + 1)) {
      // Only SVG's namespace, and references to figures within the page.
      const std::string_view rest = all.substr(at);
      EXPECT_TRUE(rest.starts_with("http://www.w3.org/2000/svg'") || rest.starts_with("url(#")) << rest.substr(0, 60);
    }
  }
}

TEST(HtmlPage, PolicyNamesWhatItAllows) {
  // The hashes were computed with: printf a | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(
      content_security_policy("a", "b"),
      "default-src 'none'; style-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='; script-src "
      "'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='; img-src data:; base-uri 'none'; form-action 'none'");
}

TEST(PageContexts, PowersOfTwoUpToTheTrainedOne) {
  EXPECT_EQ(page_contexts({}), std::vector<u64>());
  EXPECT_EQ(page_contexts(0), std::vector<u64>());
  EXPECT_EQ(page_contexts(512), std::vector<u64>{512});
  EXPECT_EQ(page_contexts(4096), (std::vector<u64>{1024, 2048, 4096}));
  EXPECT_EQ(page_contexts(5000), (std::vector<u64>{1024, 2048, 4096, 5000}));
  EXPECT_EQ(page_contexts(u64{10} << 20).size(), 10U);
  EXPECT_EQ(page_contexts(~u64{0}).back(), ~u64{0});
}

}  // namespace
}  // namespace modelutils
