// All work on long values is charged: tries every filter, test, method and operator with texts and lists that a loop
// has doubled repeatedly. Does not measure time.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "template/interpreter.h"
#include "template/operators.h"
#include "template_fixture.h"

namespace modelutils {
namespace {

// Minimum for 2^17 bytes of text, 2^13 list items, or 2,500 names in a namespace.
constexpr u64 fewest_steps = 300;

// a, a2: letters; u: two-byte letters; w: whitespace; n: digits; c: "{{}}", p: "%%"; l, l2, t, r: numbers. Provided
// from outside: `pairs`, a dict with many keys, and `names`, a namespace with as many names.
constexpr std::string_view setup =
    "{% set x = namespace(a='a', u='é', w=' ', n='1', c='{{', p='%%', l=[1], t=(1, 1)) %}"
    "{% for i in range(17) %}{% set x.a = x.a + x.a %}{% set x.w = x.w + x.w %}{% set x.n = x.n + x.n %}{% endfor %}"
    "{% for i in range(16) %}{% set x.u = x.u ~ x.u %}{% set x.c = x.c ~ x.c %}{% set x.p = x.p ~ x.p %}{% endfor %}"
    "{% for i in range(13) %}{% set x.l = x.l + x.l %}{% set x.t = x.t + x.t %}{% endfor %}"
    "{% set a, u, w, n, c, p, l, t = x.a, x.u, x.w, x.n, x.c, x.p, x.l, x.t %}"
    "{% set a2, l2, r = a[0] + a[1:], l + [], range(8192) %}"
    "{% macro f() %}{{ kwargs|length }}{{ varargs|length }}{% endmacro %}";

struct Outcome {
  jinja::Machine::Spent spent;
  std::string failure;  // empty on success
  bool is_limit = false;
};

Outcome run(const std::string& source, const jinja::Limits& limits) {
  const auto parsed = jinja::parse(source);
  if (!parsed) return {{}, parsed.error().message};
  jinja::Machine machine(limits);
  jinja::Interpreter interpreter(machine, 0);
  auto* dict = machine.make<jinja::Dict>();
  auto* names = machine.make<jinja::Names>();
  const bool is_asked_for = source.find("pairs") != source.npos || source.find("names") != source.npos;
  for (int i = 0; i < (is_asked_for ? 2'500 : 0); ++i) {
    const std::string name = fmt::format("k{}", i);
    const jinja::Value key = *machine.text(name);
    EXPECT_TRUE(jinja::put(machine, *dict, key, key));
    names->attributes.emplace_back(name, key);
  }
  interpreter.set("pairs", jinja::Value::of(jinja::Kind::dict, dict));
  interpreter.set("names", jinja::Value::of(jinja::Kind::names, names));
  const auto text = interpreter.run(parsed->root());
  if (text) return {machine.spent(), ""};
  return {machine.spent(), text.error()->message, text.error()->kind == jinja::FailureKind::limit};
}

// Checks statements that follow the setup.
void expect_charged(const std::string& statements) {
  const bool asks = statements.find("pairs") != statements.npos || statements.find("names") != statements.npos;
  static const Outcome plain = run(std::string(setup), {});
  static const Outcome with_pairs = run(std::string(setup) + "{# pairs #}", {});
  const Outcome& before = asks ? with_pairs : plain;
  ASSERT_EQ(before.failure, "");
  const Outcome once = run(std::string(setup) + statements, {});
  const auto cost = [](const Outcome& outcome) { return outcome.spent.steps + outcome.spent.memory / 64; };
  EXPECT_GE(cost(once) - cost(before), fewest_steps) << statements << ": " << once.failure.substr(0, 80);
  if (!once.failure.empty()) return;
  // 400 repetitions must reach a limit. If they cost nothing, they would stay below both limits.
  const Outcome often = run(fmt::format("{}{{% for i in range(400) %}}{}{{% endfor %}}", setup, statements),
                            {.steps = before.spent.steps + 20'000, .memory = before.spent.memory + (u64{4} << 20)});
  EXPECT_TRUE(often.is_limit) << statements << ": " << often.failure.substr(0, 80);
}

struct Sample {
  std::string_view name;
  std::vector<std::string_view> expressions;
};

void expect_charged(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    for (const std::string_view expression : sample.expressions) {
      expect_charged(fmt::format("{{% set y = {} %}}", expression));
    }
  }
}

// Fails for new natives until they are added here.
void expect_complete(const std::vector<Sample>& samples, const std::set<std::string_view>& constant,
                     std::initializer_list<std::span<const jinja::NamedNative>> tables) {
  for (const auto& table : tables) {
    for (const jinja::NamedNative& native : table) {
      const bool is_tried =
          std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) { return sample.name == native.name; });
      EXPECT_TRUE(native.native == nullptr || is_tried != constant.contains(native.name)) << native.name;
    }
  }
}

TEST(TemplateCharges, Operators) {
  expect_charged({{"",
                   {"a + 'x'",
                    "'x' + a",
                    "a ~ 'x'",
                    "a * 2",
                    "2 * a",
                    "l + [1]",
                    "l * 2",
                    "t + (1,)",
                    "a == a2",
                    "a != a2",
                    "a < a2",
                    "a <= a2",
                    "a > a2",
                    "a >= a2",
                    "l == l2",
                    "l != l2",
                    "l < l2",
                    "l <= l2",
                    "l > l2",
                    "l >= l2",
                    "pairs == pairs.copy()",
                    "'b' in a",
                    "'b' not in a",
                    "a2 in a",
                    "2 in l",
                    "2 not in l",
                    "2 in t",
                    "70000 in r",
                    "2 in pairs.keys()",
                    "a in pairs",
                    "a[1:]",
                    "a[::-1]",
                    "a[::2]",
                    "u[5:]",
                    "u[-1]",
                    "l[1:]",
                    "l[::-1]",
                    "pairs[a]",
                    "pairs[t]",
                    "{a: 1}",
                    "{t: 1}",
                    "'%s' % a",
                    "p % ()",
                    "'%(x)s' % {'x': a}",
                    "names.k19999",
                    "names['k19999']",
                    "a ~ l",
                    "(a, l) == (a2, l2)",
                    "[[l]] == [[l2]]",
                    "a if a == a2",
                    "a == a2 and 1",
                    "f(*l)"}}});
  expect_charged("{% set y %}{{ a }}{% endset %}");
  expect_charged("{% for i in l %}{% endfor %}");
  expect_charged("{% for i in a %}{% endfor %}");
  expect_charged("{% for i in l if i == 2 %}{% endfor %}");
  expect_charged("{% for i in l|select %}{% set y = loop.length %}{% break %}{% endfor %}");
  expect_charged("{% filter upper %}{{ a }}{% endfilter %}");
  expect_charged("{% set names.k19999 = 1 %}");
  expect_charged("{% set y, z = l %}");
  expect_charged("{{ f(**pairs) }}");
  expect_charged("{{ '{k1}'.format(**pairs) }}");
  expect_charged("{{ a }}");
  expect_charged("{{ l }}");
  expect_charged("{% set y = names %}{{ y }}");
}

TEST(TemplateCharges, Filters) {
  const std::vector<Sample> samples = {
      {"attr", {"a|attr(a)"}},
      {"batch", {"l|batch(10)"}},
      {"capitalize", {"a|capitalize", "u|capitalize"}},
      {"center", {"a|center(2000000)"}},
      {"dictsort", {"pairs|dictsort", "pairs|dictsort(by='value')", "{1: a, 2: a2}|dictsort(by='value')"}},
      {"e", {"a|e"}},
      {"escape", {"a|escape"}},
      {"first", {"l|first"}},
      {"float", {"n|float"}},
      {"forceescape", {"a|forceescape"}},
      {"format", {"p|format", "'%s'|format(a)", "'%s'|format(l)"}},
      {"indent", {"a|indent", "'b'|indent(a)", "'b'|indent(2000000)"}},
      {"int", {"n|int", "n|int(base=16)"}},
      {"items", {"pairs|items|list"}},
      {"join", {"l|join", "a|join", "[1, 2]|join(a)", "[1, 2]|join(',', a)"}},
      {"last", {"l|last", "u|last"}},
      {"list", {"a|list", "l|list", "pairs|list"}},
      {"lower", {"a|lower", "u|lower"}},
      {"map",
       {"l|map('abs')|list", "l|map('string')|list", "l|map(attribute=1)|list", "[1]|map(a)|list",
        "[1]|map(attribute=a)|list"}},
      {"max", {"l|max", "[a, a2]|max", "l|max(attribute=a)"}},
      {"min", {"l|min", "[a, a2]|min", "a|min"}},
      {"reject", {"l|reject", "l|reject('==', 2)", "[a]|reject('in', a2)"}},
      {"rejectattr", {"l|rejectattr('x')", "[1]|rejectattr(a)"}},
      {"replace", {"a|replace('b', 'c')", "a|replace('a', 'b')", "a|replace('', 'b')", "a|replace(a2, '')"}},
      {"reverse", {"a|reverse", "l|reverse|list"}},
      {"safe", {"a|safe", "a|safe + '<'", "'<' * 99999 + ('b'|safe)"}},
      {"select", {"l|select", "l|select('odd')"}},
      {"selectattr", {"l|selectattr('x')", "l|selectattr('x', 'undefined')"}},
      {"slice", {"l|slice(10)", "l|slice(9, 1)|list", "[1]|slice(9000)"}},
      {"sort", {"l|sort", "[a, a2]|sort", "[a, a2]|sort(case_sensitive=true)", "l|sort(attribute=a)"}},
      {"string", {"l|string", "pairs|string", "pairs.items()|string"}},
      {"sum", {"l|sum", "[l, l2]|sum(start=[])"}},
      {"title", {"a|title", "u|title"}},
      {"tojson",
       {"a|tojson", "a|tojson(ensure_ascii=true)", "u|tojson(ensure_ascii=true)", "l|tojson", "pairs|tojson",
        "pairs|tojson(sort_keys=true)", "t|tojson", "[1, 2]|tojson(separators=(a, a))", "[1]|tojson(indent=a)",
        "l|tojson(indent=1)"}},
      {"trim", {"w|trim", "a|trim('a')"}},
      {"truncate", {"a|truncate(100000)", "u|truncate(60000)", "a|truncate(2, true, a)"}},
      {"unique", {"l|unique", "[a, a2]|unique"}},
      {"upper", {"a|upper", "u|upper"}},
      {"urlencode", {"a|urlencode", "u|urlencode"}},
      {"wordcount", {"a|wordcount", "l|wordcount"}},
  };
  // These look at a single number, or pass a value on.
  const std::set<std::string_view> constant = {"abs", "count", "d", "default", "length", "round"};
  expect_complete(
      samples, constant,
      {jinja::text_filters(), jinja::number_filters(), jinja::sequence_filters(), jinja::selecting_filters()});
  expect_charged(samples);
}

TEST(TemplateCharges, MethodsOfTexts) {
  const std::vector<Sample> samples = {
      {"capitalize", {"a.capitalize()"}},
      {"center", {"a.center(2000000)", "'b'.center(2000000)", "'b'.center(3, a)"}},
      {"count", {"a.count('b')", "a.count('a')", "a.count(a2)", "a.count('')", "u.count('b', 5)"}},
      {"endswith", {"a.endswith(a2)", "a.endswith((a2, a2))", "u.endswith('b', 9)"}},
      {"find", {"a.find('b')", "a.find(a2)", "u.find('b')", "u.find('b', 5)"}},
      {"format", {"c.format()", "'{}'.format(a)", "'{!r}'.format(a)", "'{a}{a}'.format(a=a)"}},
      {"index", {"(a ~ 'b').index('b')"}},
      {"isalnum", {"a.isalnum()"}},
      {"isalpha", {"a.isalpha()"}},
      {"isascii", {"a.isascii()"}},
      {"isdigit", {"n.isdigit()"}},
      {"islower", {"a.islower()"}},
      {"isspace", {"w.isspace()"}},
      {"isupper", {"a.upper().isupper()"}},
      {"join", {"','.join(a)", "','.join([a, a])", "a.join(['b', 'c'])"}},
      {"ljust", {"a.ljust(2000000)"}},
      {"lower", {"a.lower()"}},
      {"lstrip", {"w.lstrip()", "a.lstrip('a')", "a.lstrip('ba')"}},
      {"partition", {"a.partition('b')"}},
      {"removeprefix", {"a.removeprefix('b')", "a.removeprefix(a2 ~ '')"}},
      {"removesuffix", {"a.removesuffix('b')"}},
      {"replace", {"a.replace('b', '')", "a.replace('a', 'b')", "a.replace('', 'b')"}},
      {"rfind", {"a.rfind('b')", "a.rfind(a2)"}},
      {"rindex", {"('b' ~ a).rindex('b')"}},
      {"rjust", {"a.rjust(2000000)"}},
      {"rpartition", {"a.rpartition('b')"}},
      {"rsplit", {"a.rsplit('b')", "w.rsplit()", "a.rsplit('a')"}},
      {"rstrip", {"w.rstrip()", "a.rstrip('a')"}},
      {"split", {"a.split('b')", "w.split()", "a.split('a')", "w.split(' ')", "a.split(a2)"}},
      {"splitlines", {"a.splitlines()", "(p|replace('%', '\n')).splitlines()"}},
      {"startswith", {"a.startswith(a2)", "a.startswith(a)", "a.startswith((a2,))", "u.startswith('b', 9)"}},
      {"strip", {"w.strip()", "a.strip('a')", "('b' ~ w).strip()"}},
      {"title", {"a.title()"}},
      {"upper", {"a.upper()"}},
      {"zfill", {"a.zfill(2000000)"}},
  };
  expect_complete(samples, {}, {jinja::text_methods(), jinja::text_search_methods()});
  expect_charged(samples);
}

TEST(TemplateCharges, MethodsOfOtherValuesAndFunctions) {
  expect_charged({{"",
                   {"pairs.get(a)",
                    "pairs.get(t)",
                    "pairs.items()|list",
                    "pairs.keys()|list",
                    "pairs.values()|list",
                    "pairs.copy()",
                    "l.copy()",
                    "l.count(2)",
                    "l.index(2)",
                    "[a].count(a2)",
                    "[a].index(a2)",
                    "t.count(2)",
                    "t.index(2)",
                    "r.count(2)",
                    "r.index(70000)",
                    "range(100000)",
                    "dict(pairs)",
                    "dict(**pairs)",
                    "dict(l)",
                    "namespace(pairs)",
                    "cycler(*l)",
                    "raise_exception(a)",
                    "strftime_now(n)",
                    "a is lower",
                    "a is upper",
                    "'b' is in a",
                    "2 is in l",
                    "a is sameas a2",
                    "t is sameas (t + ())",
                    "a is == a2",
                    "a is eq a2",
                    "a is equalto a2",
                    "a is != a2",
                    "a is ne a2",
                    "a is > a2",
                    "a is gt a2",
                    "a is greaterthan a2",
                    "a is >= a2",
                    "a is ge a2",
                    "a is < a2",
                    "a is lt a2",
                    "a is lessthan a2",
                    "a is <= a2",
                    "a is le a2",
                    "l is eq l2"}}});
  expect_charged("{% for i in [1] %}{% set y = [loop.changed(a), loop.changed(a2)] %}{% endfor %}");
}

// Work on things other than values is charged, too.
TEST(TemplateCharges, MessagesNamesAndFrames) {
  const std::string name(1'000'000, 'x');
  const jinja::Limits small_memory = {.memory = u64{64} << 20};
  EXPECT_TRUE(run("{% for i in range(1000) %}{% set y = " + name + " %}{% endfor %}", small_memory).is_limit);
  EXPECT_TRUE(
      run("{% for i in range(1000) %}{% set y = 'a'|map('" + name + "') %}{% endfor %}", small_memory).is_limit);
  EXPECT_TRUE(run("{% macro " + name + "() %}{% endmacro %}{% for i in range(1000) %}{% set y = " + name +
                      ".name %}{% endfor %}",
                  small_memory)
                  .is_limit);
  std::string many, parameters;
  for (int i = 0; i < 20'000; ++i) {
    many += fmt::format("{{{{ v{} }}}}", i);
    parameters += fmt::format("{}p{}", i > 0 ? "," : "", i);
  }
  const jinja::Limits few = {.steps = 500'000};
  EXPECT_TRUE(run("{% for i in range(1000) %}{% if false %}" + many + "{% endif %}{% endfor %}", few).is_limit);
  EXPECT_TRUE(run("{% macro m(" + parameters +
                      ") %}{% endmacro %}{% for i in range(1000) %}{% set y = m.arguments "
                      "%}{% endfor %}",
                  few)
                  .is_limit);
  // Small objects count, too: 100 million of them would take gigabytes.
  const Outcome small =
      run("{% for i in range(100000) %}{% for j in range(1000) %}{% set y = z %}{% endfor %}{% endfor %}",
          {.memory = u64{16} << 20});
  EXPECT_TRUE(small.is_limit);
}

}  // namespace
}  // namespace modelutils
