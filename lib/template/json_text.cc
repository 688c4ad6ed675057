// json.dumps(), as transformers' tojson filter uses it: without HTML escaping.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_text.h"

namespace modelutils::jinja {

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
