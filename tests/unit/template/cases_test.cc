// Small templates with Jinja2's results (tests/data/templates/render.py).
#include <cstdlib>

#include "support/temp_dir.h"
#include "support/time_zone.h"
#include "template_fixture.h"

namespace modelutils {
namespace {

TEST(TemplateCases, RenderAsJinjaDoes) {
  test::use_utc();
  const auto document = json::load(test::data_dir() + "/templates/cases.json");
  ASSERT_TRUE(document) << document.error().message;
  const json::Element root = (*document)->root;
  const std::string variables = json::member(root, "variables")->text();
  const i64 now = *json::i64_member(root, "now");
  std::size_t count = 0;
  const json::Array cases = *json::array_member(root, "cases");
  for (const json::Element one : cases) {
    const std::string source(*json::string_member(one, "template"));
    const std::string text = test::rendered(source, variables, now);
    const auto expected = json::string_member(one, "text");
    const auto kind = json::string_member(one, "kind").value_or("");
    if (expected) {
      EXPECT_EQ(text, *expected) << source;
    } else if (kind == "raised") {
      EXPECT_TRUE(text.starts_with("template-raised: " + std::string(*json::string_member(one, "error")))) << source;
    } else {
      EXPECT_TRUE(text.starts_with("template-" + std::string(kind) + ": ")) << source << ": " << text;
    }
    ++count;
  }
  EXPECT_GE(count, 285u);
}

}  // namespace
}  // namespace modelutils
