// Filters that apply a filter or test to each item, and those that access a single value.
#include <fmt/core.h>

#include "template/attribute_path.h"
#include "template/interpreter.h"
#include "template/natives.h"
#include "template/operators.h"
#include "template/printing.h"

namespace modelutils::jinja {

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
