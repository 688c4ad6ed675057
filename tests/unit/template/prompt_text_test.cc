// Tokens at the beginning and end of prompts, found without rendering.
#include "template/prompt_text.h"

#include "template_fixture.h"

namespace modelutils {
namespace {

TEST(PromptText, Mentions) {
  const auto parsed = jinja::parse("{{ bos_token }}{% if x == '</s>' %}{% endif %}<eot>");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(jinja::mentions(*parsed, "bos_token", ""));
  EXPECT_TRUE(jinja::mentions(*parsed, "eos_token", "</s>"));
  EXPECT_TRUE(jinja::mentions(*parsed, "eos_token", "<eot>"));
  EXPECT_FALSE(jinja::mentions(*parsed, "eos_token", "<eos>"));
}

// Returns "twice" or "late" with the text after it; empty if nothing is found.
std::string late_of(const std::string& source) {
  const auto parsed = jinja::parse(source);
  if (!parsed) return parsed.error().message;
  const auto late = jinja::late_bos(*parsed, "<s>");
  if (!late) return {};
  return (late->is_repeated ? "twice " : "late ") + std::string(parsed->source().substr(late->at));
}

TEST(PromptText, BosThatStandsFirstIsTakenAwayByPrograms) {
  for (const char* source :
       {"{{ bos_token }}text", "<s>text", "{{- bos_token -}}\n{% for m in messages %}x{% endfor %}",
        "{% set x = 1 %}{%- macro m() %} {% endmacro %}{{ bos_token + 'text' }}",
        "{% for m in messages %}{{ bos_token }}{{ m.content }}</s>{% endfor %}",
        "{{ bos_token }}{% for m in messages %}x{{ bos_token }}{% endfor %}", "{{ '<s>[INST]' }}x</s><s>[INST]",
        "no token", "{{ messages[0].content }}{{ bos_token }}",
        "{% for m in messages %}{% if not loop.first %}{{ bos_token }}{% endif %}{% endfor %}",
        "{{ bos_token }}{% for m in messages %}{% if loop.last %}{{ bos_token }}{% endif %}{% endfor %}",
        "{% set bos_token = '' %}x{{ bos_token }}"}) {
    EXPECT_EQ(late_of(source), "") << source;
  }
}

TEST(PromptText, BosThatStaysTwice) {
  EXPECT_EQ(late_of("\n{{ bos_token }}x"), "late bos_token }}x");
  EXPECT_EQ(late_of("text<s>"), "late <s>");
  EXPECT_EQ(late_of("{{ ' ' ~ bos_token }}"), "late bos_token }}");
  EXPECT_EQ(late_of("{{ bos_token }}{{ bos_token }}"), "twice bos_token }}");
  EXPECT_EQ(late_of("{{ bos_token }}<s>[INST]"), "twice <s>[INST]");
  EXPECT_EQ(late_of("{{ bos_token }}{% for m in messages %}{{ bos_token }}{% endfor %}"),
            "twice bos_token }}{% endfor %}");
  EXPECT_EQ(late_of("{{ bos_token }}{% if tools %}x{% else %}<s>{% endif %}"), "twice <s>{% endif %}");
  EXPECT_EQ(late_of("{{ bos_token }}{% if tools %}x{% elif documents %}<s>{% endif %}"), "twice <s>{% endif %}");
}

}  // namespace
}  // namespace modelutils
