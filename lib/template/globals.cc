// Functions available in every template.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"

namespace modelutils::jinja {

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
  if (::localtime_r(&now, &local) == nullptr) return machine.raise("year is out of range");
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
