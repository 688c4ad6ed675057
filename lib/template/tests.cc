// Tests, used after `is`.
#include <fmt/core.h>

#include <cmath>

#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"
#include "template/text_arguments.h"

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

// Filters that apply a filter or test to each item, and those that access a single value.

namespace {

// Makes a generator's items in advance; a failure for an item is reported when the item is reached.
template <typename Each>
Outcome<Value> generate(Machine& machine, const Value& input, const Each& each) {
  auto* iterator = machine.make<Iterator>();
  const Value value = Value::of(Kind::iterator, iterator);
  if (!is_true(input)) return value;
  const auto items = iterate(machine, input);
  if (!items) {
    if (items.error()->kind == FailureKind::limit) return tl::make_unexpected(items.error());
    iterator->failure = items.error();
    return value;
  }
  for (const Value& item : *items) {
    MU_TRY(machine.reserve(sizeof(Value)));
    const Outcome<void> done = each(item, iterator->items);
    if (done) continue;
    if (done.error()->kind == FailureKind::limit) return tl::make_unexpected(done.error());
    iterator->failure = done.error();
    break;
  }
  return value;
}

Outcome<Value> failing(Machine& machine, std::string message) {
  auto* iterator = machine.make<Iterator>();
  iterator->failure = machine.raise(std::move(message)).value();
  return Value::of(Kind::iterator, iterator);
}

Outcome<Value> map_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  if (!is_true(input))
    return generate(machine, input, [](const Value&, std::vector<Value>&) -> Outcome<void> { return {}; });
  if (call.positional.empty()) {
    constexpr std::string_view parameters[] = {"attribute", "default"};
    const auto bound = bind_arguments(machine, "map", call, parameters, 1);
    if (!bound) return failing(machine, "map requires a filter argument");
    MU_ASSIGN(const AttributePath path, AttributePath::of(machine, (*bound)[0]));
    const Value otherwise = (*bound)[1];
    return generate(machine, input, [&](const Value& item, std::vector<Value>& into) -> Outcome<void> {
      MU_ASSIGN(const Value value, path.get(interpreter, item, otherwise));
      into.push_back(value);
      return {};
    });
  }
  const Value& name = call.positional.front();
  if (!name.is(Kind::text)) return failing(machine, "the name of a filter must be a text");
  const Call rest{{call.positional.begin() + 1, call.positional.end()}, call.named};
  return generate(machine, input, [&](const Value& item, std::vector<Value>& into) -> Outcome<void> {
    MU_ASSIGN(const Value value, interpreter.filter(name.view(), item, rest));
    into.push_back(value);
    return {};
  });
}

template <bool keeps, bool by_attribute>
Outcome<Value> select_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  if (!is_true(input))
    return generate(machine, input, [](const Value&, std::vector<Value>&) -> Outcome<void> { return {}; });
  std::size_t used = 0;
  AttributePath path;
  if (by_attribute) {
    if (call.positional.empty()) return failing(machine, "Missing parameter for attribute name");
    MU_ASSIGN(path, AttributePath::of(machine, call.positional[used++]));
  }
  std::string_view name;
  Call rest;
  if (call.positional.size() > used) {
    if (!call.positional[used].is(Kind::text)) return failing(machine, "the name of a test must be a text");
    name = call.positional[used++].view();
    rest = {{call.positional.begin() + static_cast<std::ptrdiff_t>(used), call.positional.end()}, call.named};
  }
  return generate(machine, input, [&](const Value& item, std::vector<Value>& into) -> Outcome<void> {
    MU_ASSIGN(const Value value, path.get(interpreter, item));
    bool holds = is_true(value);
    if (!name.empty()) {
      MU_ASSIGN(holds, interpreter.test(name, value, rest));
    }
    if (holds == keeps) into.push_back(item);
    return {};
  });
}

Outcome<Value> otherwise_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"default_value", "boolean"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "default", call, parameters));
  if (!input.is(Kind::undefined) && (!is_true(values[1]) || is_true(input))) return input;
  if (!values[0].is(Kind::missing)) return values[0];
  return machine.text("");
}

Outcome<Value> attr_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"name"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "attr", call, parameters, 1));
  MU_ASSIGN(const std::string name, str(machine, values[0]));
  // attr() finds only attributes: a dict's keys do not count, its methods do.
  if (input.is(Kind::dict)) {
    MU_ASSIGN(const Value method, find_method(machine, input, name));
    if (method.is(Kind::missing)) {
      return machine.undefined(fmt::format("'dict object' has no attribute '{}'", name));
    }
  }
  return interpreter.attribute(input, name);
}

}  // namespace

std::span<const NamedNative> selecting_filters() {
  static constexpr NamedNative filters[] = {
      {"attr", attr_filter},
      {"d", otherwise_filter},
      {"default", otherwise_filter},
      {"map", map_filter},
      {"reject", select_filter<false, false>},
      {"rejectattr", select_filter<false, true>},
      {"select", select_filter<true, false>},
      {"selectattr", select_filter<true, true>},
  };
  return filters;
}

}  // namespace modelutils::jinja
