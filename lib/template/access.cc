// Attribute and item access by the rules of Jinja's sandbox, and the attributes that it hides.
#include <fmt/core.h>

#include <algorithm>

#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"

namespace modelutils::jinja {

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
