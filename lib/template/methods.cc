// Methods of values other than text, and method look-up by name.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "template/interpreter.h"
#include "template/natives.h"
#include "template/operators.h"
#include "template/printing.h"

namespace modelutils::jinja {

namespace {

Outcome<Value> get_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"key", "default"};
  if (!call.named.empty()) return machine.raise("dict.get() takes no keyword arguments");
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "get", call, parameters, 1));
  MU_ASSIGN(const std::string hash, hash_text(machine, values[0]));
  if (const Value* found = self.as<Dict>().find(hash)) return *found;
  return values[1].is(Kind::missing) ? Value::none() : values[1];
}

template <ViewOf what>
Outcome<Value> view_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "dict method", call, {}));
  return Value::of(Kind::view, machine.make<View>(&self.as<Dict>(), what));
}

Outcome<Value> copy_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "copy", call, {}));
  if (self.is(Kind::list)) return machine.list(self.items());
  auto* dict = machine.make<Dict>();
  for (const auto& [key, value] : self.as<Dict>().entries) MU_TRY(put(machine, *dict, key, value));
  return Value::of(Kind::dict, dict);
}

Outcome<Value> count_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"value"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "count", call, parameters, 1));
  i64 found = 0;
  for (const Value& item : self.items()) {
    MU_ASSIGN(const bool same, equal(machine, item, values[0]));
    if (same) ++found;
  }
  return Value::of(found);
}

Outcome<Value> index_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"value"};
  if (call.positional.size() > 1) return machine.unsupported("index() within a part");
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "index", call, parameters, 1));
  for (std::size_t i = 0; i < self.items().size(); ++i) {
    MU_ASSIGN(const bool same, equal(machine, self.items()[i], values[0]));
    if (same) return Value::of(i);
  }
  std::string shown;
  MU_TRY(append_repr(machine, shown, values[0]));
  return machine.raise(fmt::format("{} is not in list", shown));
}

Outcome<Value> is_integer_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  MU_TRY(bind_arguments(interpreter.machine(), "is_integer", call, {}));
  return Value::of(std::isfinite(self.real()) && self.real() == std::floor(self.real()));
}

Outcome<Value> next_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  MU_TRY(bind_arguments(interpreter.machine(), "next", call, {}));
  auto& cycler = self.changing<Cycler>();
  const Value value = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return value;
}

Outcome<Value> reset_of_value(Interpreter& interpreter, const Value& self, const Call& call) {
  MU_TRY(bind_arguments(interpreter.machine(), "reset", call, {}));
  self.changing<Cycler>().position = 0;
  return Value::none();
}

constexpr NamedNative dict_methods[] = {{"get", get_of_value},
                                        {"items", view_of_value<ViewOf::items>},
                                        {"keys", view_of_value<ViewOf::keys>},
                                        {"values", view_of_value<ViewOf::values>},
                                        {"copy", copy_of_value},
                                        {"fromkeys", nullptr}};
constexpr NamedNative list_methods[] = {{"count", count_of_value}, {"index", index_of_value}, {"copy", copy_of_value}};
constexpr NamedNative tuple_methods[] = {{"count", count_of_value}, {"index", index_of_value}};
constexpr NamedNative integer_methods[] = {{"bit_length", nullptr}, {"bit_count", nullptr},
                                           {"conjugate", nullptr},  {"denominator", nullptr},
                                           {"from_bytes", nullptr}, {"imag", nullptr},
                                           {"numerator", nullptr},  {"real", nullptr},
                                           {"to_bytes", nullptr},   {"as_integer_ratio", nullptr}};
constexpr NamedNative real_methods[] = {{"is_integer", is_integer_of_value},
                                        {"as_integer_ratio", nullptr},
                                        {"conjugate", nullptr},
                                        {"fromhex", nullptr},
                                        {"hex", nullptr},
                                        {"imag", nullptr},
                                        {"real", nullptr}};
constexpr NamedNative range_methods[] = {
    {"count", count_of_value}, {"index", index_of_value}, {"start", nullptr}, {"step", nullptr}, {"stop", nullptr}};
constexpr NamedNative cycler_methods[] = {{"next", next_of_value}, {"reset", reset_of_value}};

std::span<const NamedNative> methods_of(const Value& of) {
  switch (of.kind()) {
    case Kind::text: return text_methods();
    case Kind::dict: return dict_methods;
    case Kind::list: return list_methods;
    case Kind::tuple: return tuple_methods;
    case Kind::boolean:
    case Kind::integer:
    case Kind::big: return integer_methods;
    case Kind::real: return real_methods;
    case Kind::range: return range_methods;
    case Kind::cycler: return cycler_methods;
    default: return {};
  }
}

Value bound(Machine& machine, std::span<const NamedNative> methods, const Value& of, std::string_view name) {
  const auto found =
      std::find_if(methods.begin(), methods.end(), [&](const NamedNative& one) { return one.name == name; });
  if (found == methods.end()) return Value();
  return Value::of(Kind::function, machine.make<Function>(found->name, found->native, of));
}

Outcome<Value> macro_attribute(Machine& machine, const Macro& macro, std::string_view name) {
  const FunctionBody& body = *macro.body;
  if (name == "name") return machine.text(std::string(body.name));
  if (name == "caller") return Value::of(body.takes_caller || body.has_caller_parameter);
  if (name == "catch_kwargs") return Value::of(body.takes_kwargs);
  if (name == "catch_varargs") return Value::of(body.takes_varargs);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const Expression* parameter : body.parameters) {
      MU_ASSIGN(const Value text, machine.text(std::string(parameter->text)));
      names.push_back(text);
    }
    return machine.list(std::move(names), Kind::tuple);
  }
  return Value();
}

}  // namespace

Outcome<Value> find_method(Machine& machine, const Value& of, std::string_view name) {
  if (of.is(Kind::macro)) return macro_attribute(machine, of.as<Macro>(), name);
  if (of.is(Kind::cycler) && name == "current") {
    const auto& cycler = of.as<Cycler>();
    return cycler.items[cycler.position];
  }
  const Value method = bound(machine, methods_of(of), of, name);
  if (!method.is(Kind::missing) || !of.is(Kind::text)) return method;
  return bound(machine, text_search_methods(), of, name);
}

}  // namespace modelutils::jinja
