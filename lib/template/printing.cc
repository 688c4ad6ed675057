#include "template/printing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "template/interpreter.h"
#include "template/operators.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

// Text is charged before it is appended, so that no value exceeds the memory limit while it is printed.
constexpr u64 most_repr = 4;  // maximum per byte: "\\x01"

Outcome<void> append_quoted(Machine& machine, std::string& out, std::string_view text) {
  MU_TRY(machine.reserve(2 + most_repr * text.size()));
  append_repr(out, text);
  return {};
}

// Appends brackets, type names or numbers, which are short enough to count afterwards.
void append_short(Machine& machine, std::string& out, std::string_view part) {
  machine.count(part.size());
  out += part;
}

Outcome<void> append_items(Machine& machine, std::string& out, const std::vector<Value>& items) {
  std::string_view between;
  for (const Value& item : items) {
    append_short(machine, out, between);
    MU_TRY(append_repr(machine, out, item));
    between = ", ";
  }
  return {};
}

Outcome<void> append_dict(Machine& machine, std::string& out, const Dict& dict) {
  std::string_view between = "{";
  for (const auto& [key, value] : dict.entries) {
    append_short(machine, out, between);
    MU_TRY(append_repr(machine, out, key));
    append_short(machine, out, ": ");
    MU_TRY(append_repr(machine, out, value));
    between = ", ";
  }
  append_short(machine, out, dict.entries.empty() ? "{}" : "}");
  return {};
}

Outcome<void> append_names(Machine& machine, std::string& out, const Names& names) {
  append_short(machine, out, "<Namespace {");
  std::string_view between;
  for (const auto& [name, value] : names.attributes) {
    append_short(machine, out, between);
    MU_TRY(append_quoted(machine, out, name));
    append_short(machine, out, ": ");
    MU_TRY(append_repr(machine, out, value));
    between = ", ";
  }
  append_short(machine, out, "}>");
  return {};
}

}  // namespace

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer:
    case Kind::big: return "int";
    case Kind::real: return "float";
    case Kind::text: return value.as<Text>().is_markup ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return "dict";
    case Kind::view: {
      constexpr std::string_view names[] = {"dict_keys", "dict_values", "dict_items"};
      return names[static_cast<std::size_t>(value.as<View>().what)];
    }
    case Kind::range: return "range";
    case Kind::iterator: return "generator";
    case Kind::names: return "Namespace";
    case Kind::loop: return "LoopContext";
    case Kind::macro: return "Macro";
    case Kind::function: return "function";
    case Kind::cycler: return "Cycler";
    case Kind::joiner: return "Joiner";
    case Kind::self: return "TemplateReference";
  }
  return "object";
}

Outcome<std::vector<Value>> view_items(Machine& machine, const View& view) {
  std::vector<Value> items;
  MU_TRY(machine.reserve(view.dict->entries.size() * sizeof(Value)));
  items.reserve(view.dict->entries.size());
  for (const auto& [key, value] : view.dict->entries) {
    if (view.what == ViewOf::items) {
      MU_ASSIGN(const Value pair, machine.list({key, value}, Kind::tuple));
      items.push_back(pair);
    } else {
      items.push_back(view.what == ViewOf::keys ? key : value);
    }
  }
  return items;
}

Outcome<void> append_repr(Machine& machine, std::string& out, const Value& value) {
  MU_DEEPER(machine);
  MU_TRY(machine.charge(1));
  switch (value.kind()) {
    case Kind::text:
      if (!value.as<Text>().is_markup) return append_quoted(machine, out, value.view());
      append_short(machine, out, "Markup(");
      MU_TRY(append_quoted(machine, out, value.view()));
      append_short(machine, out, ")");
      return {};
    case Kind::list:
      append_short(machine, out, "[");
      MU_TRY(append_items(machine, out, value.items()));
      append_short(machine, out, "]");
      return {};
    case Kind::tuple:
      append_short(machine, out, "(");
      MU_TRY(append_items(machine, out, value.items()));
      append_short(machine, out, value.items().size() == 1 ? ",)" : ")");
      return {};
    case Kind::dict: return append_dict(machine, out, value.as<Dict>());
    case Kind::view: {
      append_short(machine, out, type_name(value));
      append_short(machine, out, "([");
      MU_ASSIGN(const std::vector<Value> items, view_items(machine, value.as<View>()));
      MU_TRY(append_items(machine, out, items));
      append_short(machine, out, "])");
      return {};
    }
    case Kind::names: return append_names(machine, out, value.as<Names>());
    case Kind::undefined: append_short(machine, out, "Undefined"); return {};
    default: return append_str(machine, out, value);
  }
}

Outcome<void> append_str(Machine& machine, std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined: return {};
    case Kind::none: append_short(machine, out, "None"); return {};
    case Kind::boolean: append_short(machine, out, value.boolean() ? "True" : "False"); return {};
    case Kind::integer: append_short(machine, out, fmt::format("{}", value.integer())); return {};
    case Kind::real: append_short(machine, out, float_repr(value.real())); return {};
    case Kind::big:
    case Kind::text:
      MU_TRY(machine.reserve(value.view().size()));
      out += value.view();
      return {};
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::view:
    case Kind::names: return append_repr(machine, out, value);
    case Kind::range: {
      const std::vector<Value>& items = value.items();
      if (items.empty()) return machine.unsupported("printing an empty range()");
      const i64 first = items.front().integer();
      const i64 step = items.size() > 1 ? items[1].integer() - first : 1;
      if (items.size() == 1 || step != 1) return machine.unsupported("printing a range() with a step");
      append_short(machine, out, fmt::format("range({}, {})", first, items.back().integer() + 1));
      return {};
    }
    case Kind::macro: append_short(machine, out, fmt::format("<Macro '{}'>", macro_name(value))); return {};
    default: return machine.unsupported(fmt::format("printing a {}", type_name(value)));
  }
}

Outcome<std::string> str(Machine& machine, const Value& value) {
  std::string out;
  MU_TRY(append_str(machine, out, value));
  return out;
}

Outcome<Value> str_value(Machine& machine, const Value& value) {
  if (value.is(Kind::text)) return value;
  MU_ASSIGN(std::string text, str(machine, value));
  return machine.text(std::move(text));
}

// json.dumps(), as transformers' tojson filter uses it: without HTML escaping.

namespace {

class JsonText {
 public:
  JsonText(Machine& machine, std::string& out, const JsonStyle& style) : machine_(machine), out_(out), style_(style) {}

  Outcome<void> value(const Value& value) {
    MU_DEEPER(machine_);
    MU_TRY(machine_.charge(1));
    switch (value.kind()) {
      case Kind::none: add("null"); return {};
      case Kind::boolean: add(value.boolean() ? "true" : "false"); return {};
      case Kind::integer: add(fmt::format("{}", value.integer())); return {};
      case Kind::big: add(value.view()); return {};
      case Kind::real: real(value.real()); return {};
      case Kind::text: return string(value.view());
      case Kind::list:
      case Kind::tuple: return list(value.items());
      case Kind::dict: return dict(value.as<Dict>());
      default: return machine_.raise(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
  }

 private:
  static constexpr u64 most_escaped = 6;  // bytes for each: "\\u0001"

  // count() suffices because the next value is charged.
  void add(std::string_view part) {
    machine_.count(part.size());
    out_ += part;
  }

  void real(double value) {
    if (std::isnan(value)) {
      add("NaN");
    } else if (std::isinf(value)) {
      add(value < 0 ? "-Infinity" : "Infinity");
    } else {
      add(float_repr(value));
    }
  }

  void escape(u32 unit) { out_ += fmt::format("\\u{:04x}", unit); }

  Outcome<void> string(std::string_view text) {
    MU_TRY(machine_.reserve(2 + most_escaped * text.size()));
    out_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const CodePoint point = decode_utf8(text.substr(i));
      const u32 c = static_cast<u32>(point.value);
      switch (c) {
        case '"': out_ += "\\\""; break;
        case '\\': out_ += "\\\\"; break;
        case '\n': out_ += "\\n"; break;
        case '\r': out_ += "\\r"; break;
        case '\t': out_ += "\\t"; break;
        case '\f': out_ += "\\f"; break;
        case '\b': out_ += "\\b"; break;
        default:
          if (c < 0x20 || (style_.ascii_only && c > 0x7e && c <= 0xffff)) {
            escape(c);
          } else if (style_.ascii_only && c > 0xffff) {
            escape(0xd800 + ((c - 0x10000) >> 10));
            escape(0xdc00 + ((c - 0x10000) & 0x3ff));
          } else {
            out_ += text.substr(i, point.size);
          }
      }
      i += point.size;
    }
    out_ += '"';
    return {};
  }

  Outcome<void> begin_line() {
    if (!style_.indent) return {};
    MU_TRY(machine_.reserve(1 + style_.indent->size() * level_));
    out_ += '\n';
    for (std::size_t i = 0; i < level_; ++i) out_ += *style_.indent;
    return {};
  }

  Outcome<void> list(const std::vector<Value>& items) {
    if (items.empty()) {
      add("[]");
      return {};
    }
    add("[");
    ++level_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) add(style_.between_items);
      MU_TRY(begin_line());
      MU_TRY(value(items[i]));
    }
    --level_;
    MU_TRY(begin_line());
    add("]");
    return {};
  }

  // Keys other than text are written as their JSON text in quotes.
  Outcome<void> key(const Value& key) {
    if (key.is(Kind::text)) return string(key.view());
    if (!key.is(Kind::none) && !key.is(Kind::boolean) && !key.is(Kind::integer) && !key.is(Kind::real) &&
        !key.is(Kind::big)) {
      return machine_.raise(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
    add("\"");
    MU_TRY(value(key));
    add("\"");
    return {};
  }

  Outcome<void> dict(const Dict& dict) {
    if (dict.entries.empty()) {
      add("{}");
      return {};
    }
    MU_TRY(machine_.reserve(dict.entries.size() * (sizeof(std::size_t) + sizeof(Value))));
    std::vector<std::size_t> order(dict.entries.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (style_.sort_keys) MU_TRY(sort(dict, order));
    add("{");
    ++level_;
    bool is_first = true;
    for (const std::size_t i : order) {
      if (!is_first) add(style_.between_items);
      is_first = false;
      MU_TRY(begin_line());
      MU_TRY(key(dict.entries[i].first));
      add(style_.after_key);
      MU_TRY(value(dict.entries[i].second));
    }
    --level_;
    MU_TRY(begin_line());
    add("}");
    return {};
  }

  Outcome<void> sort(const Dict& dict, std::vector<std::size_t>& order) {
    std::vector<Value> keys;
    for (const auto& [key, value] : dict.entries) keys.push_back(key);
    return sort_by_keys(machine_, keys, false, order);
  }

  Machine& machine_;
  std::string& out_;
  const JsonStyle& style_;
  std::size_t level_ = 0;
};

}  // namespace

Outcome<void> append_json(Machine& machine, std::string& out, const Value& value, const JsonStyle& style) {
  return JsonText(machine, out, style).value(value);
}

}  // namespace modelutils::jinja
