// Evaluates expressions.
#include <fmt/core.h>

#include <algorithm>

#include "base/utf8.h"
#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

// Returns the result of `a is sameas b` where the values alone do not determine it: for two literals, which Jinja's
// compiler compares as the lexer produced them, and for a variable compared with itself.
std::optional<bool> known_identity(const Expression& test, const Value& value) {
  const bool has_one = test.arguments.positional.size() == 1 && test.arguments.named.empty() &&
                       test.arguments.rest == nullptr && test.arguments.rest_named == nullptr;
  if (test.text != "sameas" || !has_one) return std::nullopt;
  const Expression &left = *test.operands.front(), &right = *test.arguments.positional.front();
  const bool is_number = value.is(Kind::integer) || value.is(Kind::big) || value.is(Kind::real);
  if (left.kind == ExpressionKind::name && right.kind == ExpressionKind::name && left.text == right.text) {
    return is_number ? std::optional(true) : std::nullopt;
  }
  if (left.kind != ExpressionKind::constant || right.kind != ExpressionKind::constant) return std::nullopt;
  const Value& other = right.constant;
  if (value.kind() != other.kind()) return false;
  if (value.is(Kind::integer)) return value.integer() == other.integer() && is_shared_integer(value.integer());
  if (is_number) return false;
  if (!value.is(Kind::text)) return std::nullopt;
  const bool is_shared =
      value.as<Text>().length <= 1 && (value.view().empty() || decode_utf8(value.view()).value < 256);
  return is_shared && value.view() == other.view();
}

}  // namespace

Outcome<Value> Interpreter::evaluate(const Expression& node) {
  MU_DEEPER(machine_);
  MU_TRY(machine_.charge(1));
  auto value = evaluate_node(node);
  if (!value) place(*value.error(), node.at);
  return value;
}

Outcome<Value> Interpreter::evaluate_node(const Expression& node) {
  switch (node.kind) {
    case ExpressionKind::constant: return node.constant;
    case ExpressionKind::name: return name(node);
    case ExpressionKind::tuple:
    case ExpressionKind::list:
    case ExpressionKind::dict: return container(node);
    case ExpressionKind::choice: {
      MU_ASSIGN(const Value test, evaluate(*node.operands[0]));
      if (is_true(test)) return evaluate(*node.operands[1]);
      if (node.operands[2] != nullptr) return evaluate(*node.operands[2]);
      return machine_.undefined("the inline if-expression evaluated to false and no else section was defined.");
    }
    case ExpressionKind::either:
    case ExpressionKind::both: {
      MU_ASSIGN(const Value left, evaluate(*node.operands[0]));
      return is_true(left) == (node.kind == ExpressionKind::either) ? left : evaluate(*node.operands[1]);
    }
    case ExpressionKind::negation: {
      MU_ASSIGN(const Value value, evaluate(*node.operands[0]));
      return Value::of(!is_true(value));
    }
    case ExpressionKind::compare: return comparison(node);
    case ExpressionKind::concat: return concatenation(node);
    case ExpressionKind::minus: {
      MU_ASSIGN(const Value value, evaluate(*node.operands[0]));
      return negative(machine_, value);
    }
    case ExpressionKind::plus: {
      MU_ASSIGN(const Value value, evaluate(*node.operands[0]));
      if (value.is(Kind::undefined)) return machine_.raise_undefined(value);
      if (value.is(Kind::real) || value.is(Kind::integer) || value.is(Kind::big)) return value;
      if (value.is(Kind::boolean)) return Value::of(i64{value.boolean()});
      return machine_.raise(fmt::format("bad operand type for unary +: '{}'", type_name(value)));
    }
    case ExpressionKind::attribute: {
      MU_ASSIGN(const Value of, evaluate(*node.operands[0]));
      return attribute(of, node.text);
    }
    case ExpressionKind::item: return subscript(node);
    case ExpressionKind::slice: return machine_.unsupported("a slice among other subscripts");
    case ExpressionKind::call: return call_expression(node, nullptr);
    case ExpressionKind::filter: return filtered(node, nullptr);
    case ExpressionKind::test: {
      MU_ASSIGN(const Value value, evaluate(*node.operands[0]));
      if (const auto same = known_identity(node, value)) return Value::of(*same);
      MU_ASSIGN(const Call call, arguments(node.arguments));
      MU_ASSIGN(const bool holds, test(node.text, value, call));
      return Value::of(holds);
    }
    case ExpressionKind::member: return machine_.raise("an attribute is assigned where it should be read");
    default: break;
  }
  MU_ASSIGN(const Value left, evaluate(*node.operands[0]));
  MU_ASSIGN(const Value right, evaluate(*node.operands[1]));
  return binary(machine_, node.kind, left, right);
}

Outcome<Value> Interpreter::name(const Expression& node) {
  const Value value = slot(node.slot);
  if (!value.is(Kind::missing)) return value;
  return machine_.undefined(fmt::format("'{}' is undefined", node.text));
}

Outcome<Value> Interpreter::container(const Expression& node) {
  if (node.kind == ExpressionKind::dict) {
    auto* dict = machine_.make<Dict>();
    for (std::size_t i = 0; i < node.operands.size(); i += 2) {
      MU_ASSIGN(const Value key, evaluate(*node.operands[i]));
      MU_ASSIGN(const Value value, evaluate(*node.operands[i + 1]));
      MU_TRY(put(machine_, *dict, key, value));
    }
    return Value::of(Kind::dict, dict);
  }
  std::vector<Value> items;
  items.reserve(node.operands.size());
  for (const Expression* operand : node.operands) {
    MU_ASSIGN(const Value item, evaluate(*operand));
    items.push_back(item);
  }
  return machine_.list(std::move(items), node.kind == ExpressionKind::list ? Kind::list : Kind::tuple);
}

// a < b < c: evaluates each operand once, and stops at the first comparison that is false.
Outcome<Value> Interpreter::comparison(const Expression& node) {
  MU_ASSIGN(Value left, evaluate(*node.operands[0]));
  for (std::size_t i = 0; i < node.comparisons.size(); ++i) {
    MU_ASSIGN(const Value right, evaluate(*node.operands[i + 1]));
    MU_ASSIGN(const bool holds, compare(machine_, node.comparisons[i], left, right));
    if (!holds) return Value::of(false);
    left = right;
  }
  return Value::of(true);
}

Outcome<Value> Interpreter::concatenation(const Expression& node) {
  std::vector<Value> values;
  for (const Expression* operand : node.operands) {
    MU_ASSIGN(const Value value, evaluate(*operand));
    values.push_back(value);
  }
  std::string text;
  for (const Value& value : values) MU_TRY(append_str(machine_, text, value));
  return machine_.text(std::move(text));
}

Outcome<Value> Interpreter::subscript(const Expression& node) {
  MU_ASSIGN(const Value of, evaluate(*node.operands[0]));
  const Expression& argument = *node.operands[1];
  if (argument.kind == ExpressionKind::slice) return slice(of, argument);
  MU_ASSIGN(const Value index, evaluate(argument));
  return item(of, index);
}

Outcome<Value> Interpreter::slice(const Value& of, const Expression& node) {
  std::optional<i64> parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (node.operands[i] == nullptr) continue;
    MU_ASSIGN(const Value value, evaluate(*node.operands[i]));
    if (value.is(Kind::none)) continue;
    const auto integer = as_integer(value);
    if (value.is(Kind::undefined) || !integer) {
      return machine_.raise("slice indices must be integers or None or have an __index__ method");
    }
    parts[i] = *integer;
  }
  if (of.is(Kind::undefined)) return machine_.raise_undefined(of);
  if (parts[2] == i64{0}) return machine_.raise("slice step cannot be zero");
  return sliced(machine_, of, parts[0], parts[1], parts[2].value_or(1));
}

Outcome<Value> Interpreter::filtered(const Expression& node, const Value* input) {
  MU_DEEPER(machine_);
  Value value;
  const Expression* of = node.operands.front();
  if (of == nullptr) {
    value = *input;
  } else if (input != nullptr && of->kind == ExpressionKind::filter) {
    MU_ASSIGN(value, filtered(*of, input));
  } else {
    MU_ASSIGN(value, evaluate(*of));
  }
  MU_ASSIGN(const Call call, arguments(node.arguments));
  auto result = filter(node.text, value, call);
  if (!result) place(*result.error(), node.at);
  return result;
}

Outcome<Call> Interpreter::arguments(const ArgumentList& list) {
  Call call;
  for (const Expression* one : list.positional) {
    MU_ASSIGN(const Value value, evaluate(*one));
    call.positional.push_back(value);
  }
  if (list.rest != nullptr) {
    MU_ASSIGN(const Value rest, evaluate(*list.rest));
    MU_ASSIGN(const std::vector<Value> items, iterate(machine_, rest));
    call.positional.insert(call.positional.end(), items.begin(), items.end());
  }
  // The parser rejects repeated keywords, except in filters and tests of constants.
  const auto add = [&](std::string_view name, const Value& value) -> Outcome<void> {
    MU_TRY(machine_.charge(call.named.size() * (1 + name.size() / 64)));
    MU_TRY(machine_.reserve(name.size() + bytes_of_name));
    for (const auto& [other, old] : call.named) {
      if (other == name) return machine_.raise(fmt::format("got multiple values for keyword argument '{}'", name));
    }
    call.named.emplace_back(std::string(name), value);
    return {};
  };
  for (const auto& [name, expression] : list.named) {
    MU_ASSIGN(const Value value, evaluate(*expression));
    MU_TRY(add(name, value));
  }
  if (list.rest_named != nullptr) {
    MU_ASSIGN(const Value rest, evaluate(*list.rest_named));
    if (!rest.is(Kind::dict)) return machine_.raise("argument after ** must be a mapping");
    for (const auto& [key, value] : rest.as<Dict>().entries) {
      if (!key.is(Kind::text)) return machine_.raise("keywords must be strings");
      MU_TRY(add(key.view(), value));
    }
  }
  return call;
}

Outcome<Value> Interpreter::call_expression(const Expression& node, const Value* caller) {
  MU_DEEPER(machine_);
  MU_ASSIGN(const Value callee, evaluate(*node.operands.front()));
  MU_ASSIGN(Call call, arguments(node.arguments));
  if (caller != nullptr) call.named.emplace_back("caller", *caller);
  auto result = this->call(callee, call);
  if (!result) place(*result.error(), node.at);
  return result;
}

// Attribute and item access by the rules of Jinja's sandbox, and the attributes that it hides.

namespace {

Value unsafe(Machine& machine, const Value& of, std::string_view name) {
  return machine.undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(of)),
                           true);
}

// True for the methods that modify a list or a dict.
bool changes_value(const Value& of, std::string_view name) {
  constexpr std::string_view of_list[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  constexpr std::string_view of_dict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto is_one = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return (of.is(Kind::list) && is_one(of_list)) || (of.is(Kind::dict) && is_one(of_dict));
}

// Attributes that every object or dict has. They are hidden from templates even if a dict has such a key.
bool is_python_attribute(const Value& of, std::string_view name) {
  constexpr std::string_view of_objects[] = {
      "__class__", "__delattr__",      "__dir__",    "__doc__",  "__eq__",           "__format__",
      "__ge__",    "__getattribute__", "__gt__",     "__hash__", "__init__",         "__init_subclass__",
      "__le__",    "__lt__",           "__ne__",     "__new__",  "__reduce__",       "__reduce_ex__",
      "__repr__",  "__setattr__",      "__sizeof__", "__str__",  "__subclasshook__", "__getstate__"};
  constexpr std::string_view of_dicts[] = {"__class_getitem__", "__contains__", "__delitem__", "__getitem__",
                                           "__ior__",           "__iter__",     "__len__",     "__or__",
                                           "__reversed__",      "__ror__",      "__setitem__"};
  const auto is_one = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return is_one(of_objects) || (of.is(Kind::dict) && is_one(of_dicts));
}

// getattr(). Returns kind `missing` if there is no such attribute.
Outcome<Value> own_attribute(Interpreter& interpreter, const Value& of, std::string_view name) {
  Machine& machine = interpreter.machine();
  if (of.is(Kind::undefined)) {
    if (!name.starts_with("__")) return machine.raise_undefined(of);
    return is_python_attribute(of, name) ? unsafe(machine, of, name) : Value();
  }
  if (of.is(Kind::self)) return machine.unsupported("an attribute of self");
  if (name.starts_with("_")) return is_python_attribute(of, name) ? unsafe(machine, of, name) : Value();
  if (changes_value(of, name)) return unsafe(machine, of, name);
  if (of.is(Kind::names)) {
    MU_TRY(machine.charge(of.as<Names>().attributes.size() / 8));
    for (const auto& [key, value] : of.as<Names>().attributes) {
      if (key == name) return value;
    }
    return Value();
  }
  if (of.is(Kind::loop)) return interpreter.loop_attribute(of, name);
  return find_method(machine, of, name);
}

// obj[key]. Returns kind `missing` if there is no such item.
Outcome<Value> own_item(Machine& machine, const Value& of, const Value& key) {
  switch (of.kind()) {
    case Kind::undefined: return machine.raise_undefined(of);
    case Kind::dict: {
      if (key.is(Kind::list) || key.is(Kind::dict)) return Value();
      MU_ASSIGN(const std::string hash, hash_text(machine, key));
      const Value* found = of.as<Dict>().find(hash);
      return found == nullptr ? Value() : *found;
    }
    case Kind::text:
    case Kind::list:
    case Kind::tuple:
    case Kind::range: {
      const auto index = as_integer(key);
      if (!index) return Value();
      const bool is_text = of.is(Kind::text);
      const auto size = static_cast<i64>(is_text ? of.as<Text>().length : of.items().size());
      const i64 at = *index < 0 ? *index + size : *index;
      if (at < 0 || at >= size) return Value();
      if (!is_text) return of.items()[static_cast<std::size_t>(at)];
      const auto place = static_cast<std::size_t>(at);
      if (!of.as<Text>().is_ascii()) MU_TRY(machine.charge(place / 16));
      return machine.text(std::string(characters(of.as<Text>(), place, place + 1)), of.as<Text>().is_markup);
    }
    default: return Value();
  }
}

std::string described_object(const Value& of) {
  if (of.is(Kind::none)) return "None";
  if (of.is(Kind::names)) return "jinja2.utils.Namespace object";
  return fmt::format("{} object", type_name(of));
}

}  // namespace

Outcome<Value> Interpreter::attribute(const Value& of, std::string_view name) {
  MU_TRY(machine_.charge(1));
  MU_ASSIGN(const Value own, own_attribute(*this, of, name));
  if (!own.is(Kind::missing)) return own;
  MU_ASSIGN(const Value key, machine_.text(std::string(name)));
  MU_ASSIGN(const Value found, own_item(machine_, of, key));
  if (!found.is(Kind::missing)) return found;
  return machine_.undefined(fmt::format("'{}' has no attribute '{}'", described_object(of), name));
}

Outcome<Value> Interpreter::item(const Value& of, const Value& subscript) {
  MU_TRY(machine_.charge(1));
  MU_ASSIGN(const Value found, own_item(machine_, of, subscript));
  if (!found.is(Kind::missing)) return found;
  if (subscript.is(Kind::text)) {
    MU_ASSIGN(const Value own, own_attribute(*this, of, subscript.view()));
    if (!own.is(Kind::missing)) return own;
    return machine_.undefined(fmt::format("'{}' has no attribute '{}'", described_object(of), subscript.view()));
  }
  std::string shown;
  if (as_integer(subscript) || subscript.is(Kind::none)) MU_TRY(append_repr(machine_, shown, subscript));
  return machine_.undefined(fmt::format("{} has no element {}", described_object(of), shown));
}

std::string_view characters(const Text& text, std::size_t begin, std::size_t end) {
  const std::string_view bytes = text.bytes;
  if (text.is_ascii()) return bytes.substr(begin, end - begin);
  const std::string_view rest = bytes.substr(bytes_of(bytes, begin));
  return rest.substr(0, bytes_of(rest, end - begin));
}

Outcome<Value> sliced(Machine& machine, const Value& of, std::optional<i64> start, std::optional<i64> stop, i64 step) {
  const bool is_text = of.is(Kind::text);
  if (!is_text && !of.is(Kind::list) && !of.is(Kind::tuple) && !of.is(Kind::range)) {
    if (of.is(Kind::dict)) return machine.raise("unhashable type: 'slice'");
    return machine.raise(fmt::format("'{}' object is not subscriptable", type_name(of)));
  }
  const auto size = static_cast<i64>(is_text ? of.as<Text>().length : of.items().size());
  const i64 lowest = step < 0 ? -1 : 0;
  const i64 highest = step < 0 ? size - 1 : size;
  const auto clamped = [&](std::optional<i64> at, i64 otherwise) {
    if (!at) return otherwise;
    const i64 from_begin = *at < 0 ? std::max(*at, -size - 1) + size : *at;
    return std::clamp(from_begin, lowest, highest);
  };
  const i64 begin = clamped(start, step < 0 ? highest : lowest);
  const i64 end = clamped(stop, step < 0 ? lowest : highest);
  if (is_text && step == 1) {
    const auto first = static_cast<std::size_t>(begin);
    MU_TRY(machine.charge(of.view().size() / 16));
    return machine.text(std::string(characters(of.as<Text>(), first, static_cast<std::size_t>(std::max(begin, end)))),
                        of.as<Text>().is_markup);
  }
  std::vector<Value> items;
  if (is_text) {
    MU_ASSIGN(items, iterate(machine, of));
  }
  const std::vector<Value>& from = is_text ? items : of.items();
  std::vector<Value> taken;
  if (size > 0) {
    const i64 stride = std::clamp(step, -size, size);  // avoids overflow below; a longer step selects only the first
                                                       // item, too
    for (i64 i = begin; stride > 0 ? i < end : i > end; i += stride) {
      MU_TRY(machine.reserve(sizeof(Value)));
      taken.push_back(from[static_cast<std::size_t>(i)]);
    }
  }
  if (!is_text) return machine.list(std::move(taken), of.kind());
  std::string text;
  for (const Value& item : taken) text += item.view();
  return machine.text(std::move(text), of.as<Text>().is_markup);
}

}  // namespace modelutils::jinja
