#include "json/value.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include "base/escape.h"
#include "base/utf8.h"

namespace modelutils::json {

namespace {

using Type = Node::Type;

void append_decimal(std::string& out, double value) {
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e15);
  char text[32];
  const auto format = is_fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const std::string_view decimal(text, std::to_chars(std::begin(text), std::end(text), value, format).ptr);
  out += decimal;
  if (is_fixed && decimal.find('.') == decimal.npos) out += ".0";
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (static_cast<u8>(c) < 0x20 || c == '"' || c == '\\') {
      append_json_escape(out, static_cast<u8>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_scalar(std::string& out, const Node& node) {
  char digits[24];
  const auto append_integer = [&](auto value) {
    out.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
  };
  switch (node.type) {
    case Type::boolean: out += node.truth ? "true" : "false"; break;
    case Type::natural: append_integer(node.natural); break;
    case Type::negative: append_integer(node.negative); break;
    case Type::decimal: append_decimal(out, node.decimal); break;
    case Type::string: append_quoted(out, node.string()); break;
    default: out += "null";
  }
}

}  // namespace

bool Element::get(std::string_view& out) const {
  if (node_->type != Type::string) return false;
  out = node_->string();
  return true;
}

bool Element::get(u64& out) const {
  if (node_->type != Type::natural) return false;
  out = node_->natural;
  return true;
}

bool Element::get(i64& out) const {
  if (node_->type == Type::negative) {
    out = node_->negative;
    return true;
  }
  if (node_->type != Type::natural || node_->natural > static_cast<u64>(INT64_MAX)) return false;
  out = static_cast<i64>(node_->natural);
  return true;
}

bool Element::get(double& out) const {
  switch (node_->type) {
    case Type::natural: out = static_cast<double>(node_->natural); return true;
    case Type::negative: out = static_cast<double>(node_->negative); return true;
    case Type::decimal: out = node_->decimal; return true;
    default: return false;
  }
}

bool Element::get(bool& out) const {
  if (node_->type != Type::boolean) return false;
  out = node_->truth;
  return true;
}

bool Element::get(Object& out) const {
  if (node_->type != Type::object) return false;
  out = Object(node_);
  return true;
}

bool Element::get(Array& out) const {
  if (node_->type != Type::array) return false;
  out = Array(node_);
  return true;
}

std::string Element::text() const {
  std::string out;
  std::vector<const Node*> open;  // containers around `at`
  const Node* at = node_;
  while (true) {
    const bool is_object = at->type == Type::object;
    if (is_object || at->type == Type::array) {
      out += is_object ? '{' : '[';
      open.push_back(at);
    } else {
      append_scalar(out, *at);
    }
    ++at;
    while (!open.empty() && at == open.back()->end) {
      out += open.back()->type == Type::object ? '}' : ']';
      open.pop_back();
    }
    if (open.empty()) return out;
    if (at != open.back() + 1) out += ',';
    if (open.back()->type == Type::object) {
      append_quoted(out, at->string());
      out += ':';
      ++at;
    }
  }
}

std::optional<Element> Array::at(std::size_t index) const {
  if (index >= size()) return std::nullopt;
  return *std::next(begin(), static_cast<std::ptrdiff_t>(index));
}

std::optional<Element> Object::find(std::string_view key) const {
  for (const Member member : *this) {
    if (member.key == key) return member.value;
  }
  return std::nullopt;
}

namespace {

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    const char32_t value = point.valid ? point.value : char32_t{0xFFFD};
    if (value >= 0x20 && value < 0x80 && value != '"' && value != '\\') {
      out += static_cast<char>(value);
    } else {
      append_json_escape(out, value);
    }
    text.remove_prefix(point.size);
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  const std::string text = fmt::format("{}", value);
  out += text;
  if (text.find_first_of(".en") == std::string::npos) out += ".0";
}

// Recursion is bounded by the reader's limit on nesting (1024).
void append(std::string& out, Element value) {
  Object object;
  Array array;
  std::string_view text;
  u64 natural = 0;
  i64 integer = 0;
  double decimal = 0;
  bool truth = false;
  if (value.get(object)) {
    std::map<std::string_view, Element> sorted;
    for (const Member member : object) sorted.insert_or_assign(member.key, member.value);
    out += '{';
    for (const auto& [key, member] : sorted) {
      if (out.back() != '{') out += ',';
      append_string(out, key);
      out += ':';
      append(out, member);
    }
    out += '}';
  } else if (value.get(array)) {
    out += '[';
    bool is_first = true;
    for (const Element element : array) {
      if (!is_first) out += ',';
      is_first = false;
      append(out, element);
    }
    out += ']';
  } else if (value.get(text)) {
    append_string(out, text);
  } else if (value.get(truth)) {
    out += truth ? "true" : "false";
  } else if (value.get(natural)) {
    out += fmt::format("{}", natural);
  } else if (value.get(integer)) {
    out += fmt::format("{}", integer);
  } else if (value.get(decimal)) {
    append_double(out, decimal);
  } else {
    out += "null";
  }
}

}  // namespace

std::string canonical_text(Element value) {
  std::string out;
  append(out, value);
  return out;
}

std::string ascii_text(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    if (static_cast<unsigned char>(json.front()) < 0x80) {
      out += json.front();
      json.remove_prefix(1);
      continue;
    }
    const CodePoint point = decode_utf8(json);
    append_json_escape(out, point.valid ? point.value : char32_t{0xFFFD});
    json.remove_prefix(point.size);
  }
  return out;
}

}  // namespace modelutils::json
