#include "template/render.h"

#include <gtest/gtest.h>

namespace modelutils {

// Capabilities of small templates, where they are obvious.

namespace {

std::string can(std::string_view source) {
  const auto parsed = jinja::parse(source);
  if (!parsed) return parsed.error().code;
  const jinja::Capabilities found = jinja::capabilities(*parsed);
  std::string names;
  if (found.system) names += "system ";
  if (found.tools) names += "tools ";
  if (found.thinking) names += "thinking ";
  if (found.multimodal) names += "multimodal ";
  return names;
}

TEST(TemplateCapabilities, AreFoundByRendering) {
  EXPECT_EQ(can("{% for m in messages %}{{ m.content }}{% endfor %}"), "system ");
  EXPECT_EQ(can("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}"), "");
  EXPECT_EQ(can("{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"), "");
  EXPECT_EQ(can("{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"), "tools ");
  EXPECT_EQ(can("{# tools, enable_thinking, image #}{{ 'tools reasoning_content' }}"), "") << "words alone";
  EXPECT_EQ(can("{% for m in messages %}{{ m.reasoning_content or '' }}{% endfor %}"), "thinking ");
  EXPECT_EQ(can("{% if enable_thinking %}<think>{% endif %}"), "thinking ");
  EXPECT_EQ(can("{% if thinking %}<think>{% endif %}"), "thinking ");
  EXPECT_EQ(can("{{ 'Reasoning: ' + (reasoning_effort or 'medium') }}"), "thinking ") << "gpt-oss";
  EXPECT_EQ(can("{% for m in messages %}{% if loop.last and m.thinking %}{{ m.thinking }}{% endif %}{% endfor %}"),
            "thinking ");
  EXPECT_EQ(can("{% for m in messages %}{% if 'thought' in m %}{{ m['thought'] }}{% endif %}{% endfor %}"),
            "thinking ");
  EXPECT_EQ(can("{% for m in messages %}{% if m.content is not string %}{% for p in m.content %}"
                "{{ '<image>' if p.type == 'image' else p.text }}{% endfor %}{% endif %}{% endfor %}"),
            "multimodal ");
  EXPECT_EQ(can("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"), "")
      << "within limits";
}

}  // namespace

}  // namespace modelutils
