// Tests, used after `is`.
#include <fmt/core.h>

#include <cmath>

#include "template/interpreter.h"
#include "template/natives.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

using Test = Outcome<bool> (*)(Machine& machine, const Value& value, const std::vector<Value>& arguments);

Outcome<bool> remainder_is(Machine& machine, const Value& value, const Value& divisor, i64 expected) {
  MU_ASSIGN(const Value rest, binary(machine, ExpressionKind::modulo, value, divisor));
  return equal(machine, rest, Value::of(expected));
}

Outcome<bool> is_callable(Machine&, const Value& value, const std::vector<Value>&) {
  // Undefined has __call__, which raises when called.
  return value.is(Kind::macro) || value.is(Kind::function) || value.is(Kind::loop) || value.is(Kind::joiner) ||
         value.is(Kind::undefined);
}

Outcome<bool> is_iterable(Machine& machine, const Value& value, const std::vector<Value>&) {
  switch (value.kind()) {
    case Kind::loop: return machine.unsupported("iterating a loop");
    case Kind::undefined:
    case Kind::text:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::view:
    case Kind::range:
    case Kind::iterator: return true;
    default: return false;
  }
}

bool has_length_and_items(const Value& value) {
  return value.is(Kind::text) || value.is(Kind::list) || value.is(Kind::tuple) || value.is(Kind::dict) ||
         value.is(Kind::range) || value.is(Kind::undefined);
}

template <Comparison comparison>
Outcome<bool> compared(Machine& machine, const Value& value, const std::vector<Value>& arguments) {
  return compare(machine, comparison, value, arguments[0]);
}

template <Kind kind>
Outcome<bool> is_kind(Machine&, const Value& value, const std::vector<Value>&) {
  return value.is(kind);
}

// Python's `is`. For equal numbers, texts or tuples, the result depends on CPython's compiler; so this decides only for
// kinds with unique objects.
Outcome<bool> is_same(Machine& machine, const Value& value, const std::vector<Value>& arguments) {
  const Value& other = arguments[0];
  if (value.kind() != other.kind()) return false;
  switch (value.kind()) {
    case Kind::none: return true;
    case Kind::boolean: return value.boolean() == other.boolean();
    case Kind::function: {
      const auto &one = value.as<Function>(), &two = other.as<Function>();
      if (one.self.is(Kind::none) && two.self.is(Kind::none)) return one.name == two.name;
      return &one == &two;
    }
    case Kind::integer:
      if (value.integer() == other.integer() && is_shared_integer(value.integer())) return true;
      break;
    case Kind::text:
      if (value.as<Text>().is_markup != other.as<Text>().is_markup) return false;
      if (value.view().empty() && other.view().empty() && !value.as<Text>().is_markup) return true;
      [[fallthrough]];
    case Kind::big:
    case Kind::tuple:
      if (value.object() == other.object()) return true;
      break;
    case Kind::real:
      if (std::isnan(value.real()) && std::isnan(other.real())) return machine.unsupported("'sameas' of NaN");
      break;
    default: return value.object() == other.object();
  }
  MU_ASSIGN(const bool are_equal, equal(machine, value, other));
  if (are_equal) return machine.unsupported("'sameas' of two equal numbers, texts or tuples");
  return false;
}

struct NamedTest {
  std::string_view name;
  Test test;
  std::size_t arguments = 0;
};

Outcome<bool> is_name_of_test(Machine&, const Value& value, const std::vector<Value>&) {
  return value.is(Kind::text) && is_test(value.view());
}

constexpr NamedTest tests[] = {
    {"odd",
     [](Machine& m, const Value& v, const std::vector<Value>&) { return remainder_is(m, v, Value::of(i64{2}), 1); }},
    {"even",
     [](Machine& m, const Value& v, const std::vector<Value>&) { return remainder_is(m, v, Value::of(i64{2}), 0); }},
    {"divisibleby", [](Machine& m, const Value& v, const std::vector<Value>& a) { return remainder_is(m, v, a[0], 0); },
     1},
    {"defined",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> { return !v.is(Kind::undefined); }},
    {"undefined", is_kind<Kind::undefined>},
    {"none", is_kind<Kind::none>},
    {"boolean", is_kind<Kind::boolean>},
    {"float", is_kind<Kind::real>},
    {"string", is_kind<Kind::text>},
    {"mapping", is_kind<Kind::dict>},
    {"false",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       return v.is(Kind::boolean) && !v.boolean();
     }},
    {"true",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       return v.is(Kind::boolean) && v.boolean();
     }},
    {"integer",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       return v.is(Kind::integer) || v.is(Kind::big);
     }},
    {"number",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       return as_real(v).has_value() || v.is(Kind::big);
     }},
    {"sequence",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> { return has_length_and_items(v); }},
    {"iterable", is_iterable},
    {"callable", is_callable},
    {"escaped",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       return v.is(Kind::text) && v.as<Text>().is_markup;
     }},
    {"lower",
     [](Machine& m, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       MU_ASSIGN(const std::string text, str(m, v));
       MU_TRY(m.charge(text.size() / 8));
       return is_lower(text);
     }},
    {"upper",
     [](Machine& m, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       MU_ASSIGN(const std::string text, str(m, v));
       MU_TRY(m.charge(text.size() / 8));
       return is_upper(text);
     }},
    {"filter",
     [](Machine&, const Value& v, const std::vector<Value>&) -> Outcome<bool> {
       return v.is(Kind::text) && is_filter(v.view());
     }},
    {"test", is_name_of_test},
    {"sameas", is_same, 1},
    {"in", [](Machine& m, const Value& v, const std::vector<Value>& a) { return contains(m, a[0], v); }, 1},
    {"==", compared<Comparison::equal>, 1},
    {"eq", compared<Comparison::equal>, 1},
    {"equalto", compared<Comparison::equal>, 1},
    {"!=", compared<Comparison::not_equal>, 1},
    {"ne", compared<Comparison::not_equal>, 1},
    {">", compared<Comparison::greater>, 1},
    {"gt", compared<Comparison::greater>, 1},
    {"greaterthan", compared<Comparison::greater>, 1},
    {">=", compared<Comparison::greater_equal>, 1},
    {"ge", compared<Comparison::greater_equal>, 1},
    {"<", compared<Comparison::less>, 1},
    {"lt", compared<Comparison::less>, 1},
    {"lessthan", compared<Comparison::less>, 1},
    {"<=", compared<Comparison::less_equal>, 1},
    {"le", compared<Comparison::less_equal>, 1},
};

const NamedTest* find_test(std::string_view name) {
  for (const NamedTest& one : tests) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

bool is_test(std::string_view name) {
  return find_test(name) != nullptr;
}

Outcome<bool> Interpreter::test(std::string_view name, const Value& input, const Call& call) {
  MU_TRY(machine_.charge(1));
  const NamedTest* test = find_test(name);
  if (test == nullptr) return machine_.raise(fmt::format("No test named '{}'.", name));
  if (call.positional.size() != test->arguments || !call.named.empty()) {
    return machine_.raise(fmt::format("the test '{}' takes {} argument(s)", name, test->arguments));
  }
  return test->test(machine_, input, call.positional);
}

}  // namespace modelutils::jinja
