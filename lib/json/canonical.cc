#include "json/canonical.h"

#include <fmt/core.h>

#include <map>

#include "base/escape.h"
#include "base/utf8.h"

namespace modelutils::json {

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
