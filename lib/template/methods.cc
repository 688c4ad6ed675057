// Methods of values other than text, and method look-up by name.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/os/process.h"
#include "template/interpreter.h"
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

// Functions available in every template.

namespace {

Outcome<Value> range_of(Interpreter& interpreter, const Value&, const Call& call) {
  Machine& machine = interpreter.machine();
  if (!call.named.empty()) return machine.raise("range() takes no keyword arguments");
  const std::size_t count = call.positional.size();
  if (count < 1 || count > 3) return machine.raise("range expected 1 to 3 arguments");
  i64 numbers[3] = {0, 0, 1};
  for (std::size_t i = 0; i < count; ++i) {
    MU_ASSIGN(numbers[i], need_integer(machine, call.positional[i], "an argument of range()"));
  }
  const i64 begin = count == 1 ? 0 : numbers[0];
  const i64 end = count == 1 ? numbers[0] : numbers[1];
  const i64 step = numbers[2];
  if (step == 0) return machine.raise("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (i64 i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<i64>(items.size()) == machine.limits().range) {
      return machine.raise("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
    }
    MU_TRY(machine.reserve(sizeof(Value)));
    items.push_back(Value::of(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return machine.list(std::move(items), Kind::range);
}

// Adds the entries of a dict, or of any iterable of pairs.
Outcome<void> add_pairs(Machine& machine, const Value& from, Dict& dict) {
  if (from.is(Kind::dict)) {
    for (const auto& [key, value] : from.as<Dict>().entries) {
      MU_TRY(put(machine, dict, key, value));
    }
    return {};
  }
  MU_ASSIGN(const std::vector<Value> pairs, iterate(machine, from));
  for (const Value& pair : pairs) {
    MU_ASSIGN(const std::vector<Value> parts, iterate(machine, pair));
    if (parts.size() != 2) return machine.raise("dictionary update sequence elements must be pairs");
    MU_TRY(put(machine, dict, parts[0], parts[1]));
  }
  return {};
}

Outcome<Dict*> dict_from(Machine& machine, const Call& call, std::string_view name) {
  auto* dict = machine.make<Dict>();
  if (call.positional.size() > 1) return machine.raise(fmt::format("{} expected at most 1 argument", name));
  if (!call.positional.empty()) MU_TRY(add_pairs(machine, call.positional.front(), *dict));
  for (const auto& [key, value] : call.named) {
    MU_ASSIGN(const Value text, machine.text(key));
    MU_TRY(put(machine, *dict, text, value));
  }
  return dict;
}

Outcome<Value> dict_of(Interpreter& interpreter, const Value&, const Call& call) {
  MU_ASSIGN(const Dict* dict, dict_from(interpreter.machine(), call, "dict"));
  return Value::of(Kind::dict, dict);
}

Outcome<Value> namespace_of(Interpreter& interpreter, const Value&, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_ASSIGN(const Dict* dict, dict_from(machine, call, "namespace"));
  auto* names = machine.make<Names>();
  for (const auto& [key, value] : dict->entries) {
    if (!key.is(Kind::text)) return machine.unsupported("a namespace whose names are not texts");
    MU_TRY(machine.reserve(key.view().size() + bytes_of_name));
    names->attributes.emplace_back(std::string(key.view()), value);
  }
  return Value::of(Kind::names, names);
}

Outcome<Value> raise_exception(Interpreter& interpreter, const Value&, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"message"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "raise_exception", call, parameters, 1));
  MU_ASSIGN(std::string message, str(machine, values[0]));
  if (message.empty()) message = "the template raises an exception without a message";  // raise_exception(undefined)
  return machine.fail(FailureKind::raised, std::move(message));
}

// Handles the three codes that Python's strftime() implements itself; for a time without zone, two of them are empty.
std::string without_python_codes(std::string_view format) {
  std::string result;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      result += format[i];
      continue;
    }
    ++i;
    if (format[i] == 'f') {
      result += "000000";
    } else if (format[i] != 'z' && format[i] != 'Z') {
      result += '%';
      result += format[i];
    }
  }
  return result;
}

Outcome<Value> strftime_now(Interpreter& interpreter, const Value&, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"format"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "strftime_now", call, parameters, 1));
  if (!values[0].is(Kind::text)) {
    return machine.raise(fmt::format("strftime() argument 1 must be str, not {}", type_name(values[0])));
  }
  MU_TRY(machine.reserve(values[0].view().size()));
  const std::string format = without_python_codes(values[0].view());
  if (format.find('\0') != std::string::npos) return machine.raise("embedded null character");
  if (format.empty()) return machine.text("");
  // Python refuses results longer than 256 times the format, so a field width cannot make it larger.
  std::string text;
  MU_TRY(machine.reserve(256 * format.size()));
  text.resize(256 * format.size());
  const auto now = static_cast<std::time_t>(interpreter.now());
  std::tm local{};
  if (!os::local_time(now, local)) return machine.raise("year is out of range");
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &local));
  return machine.text(std::move(text));
}

Outcome<Value> cycler_of(Interpreter& interpreter, const Value&, const Call& call) {
  Machine& machine = interpreter.machine();
  if (call.positional.empty()) return machine.raise("at least one item has to be provided");
  if (!call.named.empty()) return machine.raise("cycler() takes no keyword arguments");
  auto* cycler = machine.make<Cycler>();
  MU_TRY(machine.reserve(call.positional.size() * sizeof(Value)));
  cycler->items = call.positional;
  return Value::of(Kind::cycler, cycler);
}

Outcome<Value> joiner_of(Interpreter& interpreter, const Value&, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"sep"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "joiner", call, parameters));
  auto* joiner = machine.make<Joiner>();
  MU_ASSIGN(joiner->separator, values[0].is(Kind::missing) ? machine.text(", ") : Outcome<Value>(values[0]));
  return Value::of(Kind::joiner, joiner);
}

}  // namespace

Value find_global(Machine& machine, std::string_view name) {
  struct Global {
    std::string_view name;
    Native native;
  };
  constexpr Global globals[] = {{"range", range_of},
                                {"dict", dict_of},
                                {"namespace", namespace_of},
                                {"raise_exception", raise_exception},
                                {"strftime_now", strftime_now},
                                {"cycler", cycler_of},
                                {"joiner", joiner_of},
                                {"lipsum", nullptr}};
  for (const Global& one : globals) {
    if (one.name == name) {
      return Value::of(Kind::function, machine.make<Function>(one.name, one.native, Value::none()));
    }
  }
  if (name == "self") return Value::of(Kind::self, machine.make<Object>());
  return Value();
}

}  // namespace modelutils::jinja
