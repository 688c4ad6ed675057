// Limits on what templates may cost, and constructs that are refused rather than rendered differently from Jinja.
#include <fmt/core.h>

#include "template_fixture.h"

namespace modelutils {
namespace {

using test::rendered;

std::string code_of(const std::string& source, const jinja::Limits& limits = {}) {
  const std::string text = rendered(source, "{}", 0, limits);
  return text.substr(0, text.find(':'));
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(TemplateLimits, DepthOfSources) {
  constexpr std::size_t many = 100'000;
  for (const std::string& source :
       {"{{ " + repeated("(", many) + "1" + repeated(")", many) + " }}", "{{ " + repeated("[", many),
        "{{ " + repeated("-", many) + "1 }}", "{{ " + repeated("not ", many) + "1 }}",
        "{{ a" + repeated(".a", many) + " }}", "{{ a" + repeated("[0]", many) + " }}",
        "{{ a" + repeated("|trim", many) + " }}", "{{ a" + repeated("+1", many) + " }}",
        "{{ a" + repeated("()", many) + " }}", "{{ 1" + repeated(" if 1 else 1", many) + " }}",
        "{{ 1" + repeated(" is none", many) + " }}", "{{ 1" + repeated(" and 1", many) + " }}",
        "{{ 1" + repeated("**1", many) + " }}", repeated("{% if 1 %}", 20'000) + repeated("{% endif %}", 20'000),
        repeated("{% for i in a %}", 20'000) + repeated("{% endfor %}", 20'000)}) {
    const std::string code = code_of(source);
    EXPECT_TRUE(code == "template-limit" || code == "template-syntax") << code << ": " << source.substr(0, 40);
  }
  // Length is not depth.
  EXPECT_EQ(rendered("{{ 1" + repeated(" ~ 1", many) + " }}").size(), many + 1);
  EXPECT_EQ(rendered("{{ 1" + repeated(" == 1", many) + " }}"), "True");
  EXPECT_EQ(rendered("{% if 0 %}" + repeated("{% elif 0 %}", many) + "{% else %}x{% endif %}"), "x");
  EXPECT_EQ(rendered("{{ [" + repeated("1,", many) + "]|length }}"), std::to_string(many));
}

// A tenth of the usual limits, so that the test is quick with sanitizers: each statement would take years without any.
TEST(TemplateLimits, WorkIsBounded) {
  const jinja::Limits limits = {.steps = 2'000'000, .memory = u64{32} << 20, .output = u64{3} << 20};
  for (const char* source :
       {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ "
        "ns.x|tojson }}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == "
        "ns.x + [] }}",
        "{% set ns = namespace(x='a,') %}{% for i in range(27) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ "
        "ns.x.split(',')|length }}",
        "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{{ 'b' in x }}{% endfor %}",
        "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}{{ x }}{% endfor %}",
        "{{ 'x' * 10 ** 12 }}",
        "{{ [0] * 10 ** 12 }}",
        "{{ '%1000000000s' % 'x' }}",
        "{{ 'x'|center(10 ** 10) }}",
        "{{ 'x'|indent(10 ** 10) }}",
        "{{ 'x'.ljust(10 ** 10) }}",
        "{{ '%.1000000000f' % 1.5 }}",
        "{{ [1]|batch(10 ** 10, 0)|list }}",
        "{{ [1]|slice(10 ** 10)|list }}",
        "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
        "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
        "{{ ('a' * 100000)|join('b' * 100000) }}",
        "{{ range(100000)|list|tojson(indent='x' * 1000000) }}"}) {
    EXPECT_EQ(code_of(source, limits), "template-limit") << source;
  }
  EXPECT_EQ(code_of("{{ range(100001)|list }}"), "template-error") << "as in Jinja's sandbox";
  EXPECT_EQ(rendered("{{ range(100000)|length }}"), "100000");
}

TEST(TemplateLimits, WhatTheEngineLacksIsNamed) {
  EXPECT_EQ(rendered("a\n{{ 2 ** 100 }}"),
            "template-unsupported: an integer beyond 64 bits is not supported (line 2, column 6)");
  EXPECT_EQ(rendered("{{ 'a'|wordwrap }}"),
            "template-unsupported: the filter 'wordwrap' is not supported (line 1, column 8)");
  EXPECT_EQ(rendered("{{ 'a'.casefold() }}"), "template-unsupported: casefold() is not supported (line 1, column 16)");
  EXPECT_EQ(rendered("{{ '%x' % 255 }}"),
            "template-unsupported: a format code other than %s, %d and %f (x) is not supported (line 1, column 9)");
  EXPECT_EQ(rendered("{{ '{:>8}'.format('x') }}"),
            "template-unsupported: a format specification after ':' in format() is not supported (line 1, column 18)");
  EXPECT_EQ(code_of("{{ range }}"), "template-unsupported");
  EXPECT_EQ(code_of("{{ [1]|map('string') }}"), "template-unsupported");
  EXPECT_EQ(code_of("{% autoescape true %}{% endautoescape %}"), "template-unsupported");
  EXPECT_EQ(code_of("{{ '\\N{BULLET}' }}"), "template-syntax");
}

TEST(TemplateLimits, PlacesOfFailures) {
  EXPECT_EQ(rendered("a\nbé{{ x.y.z }}"), "template-error: 'x' is undefined (line 2, column 8)");
  EXPECT_EQ(
      rendered("{% if true %}\n  {% for x in [1] %}\n"),
      "template-syntax: Unexpected end of template. Jinja was looking for the following tags: 'endfor' or 'else'. "
      "The innermost block that needs to be closed is 'for'. (line 2, column 6)");
  EXPECT_EQ(rendered("{{ raise_exception('no ' ~ 1) }}"), "template-raised: no 1 (line 1, column 19)");
  EXPECT_EQ(rendered("{{ raise_exception(nothing) }}"),
            "template-raised: the template raises an exception without a message (line 1, column 19)");
  EXPECT_EQ(rendered("{% macro m() %}\n{{ none.a.b }}{% endmacro %}\n{{ m() }}"),
            "template-error: 'None' has no attribute 'a' (line 2, column 11)");
}

TEST(TemplateLimits, NothingButTheVariablesIsReached) {
  EXPECT_EQ(code_of("{{ open('/etc/passwd') }}"), "template-error");
  EXPECT_EQ(code_of("{% include 'x' %}"), "template-error");
  EXPECT_EQ(rendered("{{ ''.__class__ }}{{ x.__class__ is defined }}", R"({"x":{"__class__":1,"__own__":2}})"),
            "False");
  EXPECT_EQ(rendered("{{ x.__own__ }}", R"({"x":{"__own__":2}})"), "2");
  EXPECT_EQ(code_of("{{ '{0.__class__.__mro__}'.format(1) }}"), "template-error");
}

// A namespace that contains itself is freed, and printed up to a limit.
TEST(TemplateLimits, CyclesEnd) {
  EXPECT_EQ(code_of("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}"), "template-limit");
}

TEST(TemplateInput, IntegersThatJsonReadersRound) {
  EXPECT_TRUE(jinja::has_exact_integers(
      R"({"a":18446744073709551615,"b":-9223372036854775808,"c":1e400,"d":"99999999999999999999"})"));
  EXPECT_FALSE(jinja::has_exact_integers("[18446744073709551616]"));
  EXPECT_FALSE(jinja::has_exact_integers("[-9223372036854775809]"));
  EXPECT_EQ(rendered("{{ a }} {{ a|tojson }}", R"({"a":18446744073709551615})"),
            "18446744073709551615 18446744073709551615");
}

}  // namespace
}  // namespace modelutils
