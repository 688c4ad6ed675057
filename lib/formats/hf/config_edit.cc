#include "formats/hf/config_edit.h"

#include <span>

#include "base/escape.h"
#include "json/cursor.h"
#include "json/reader.h"

namespace modelutils::hf {

namespace {

// Splits "a/b" into "a" and "b".
std::string_view take_name(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return name;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string json = "\"";
  append_json_escaped(json, text);
  return json + '"';
}

Result<ConfigEdit> ConfigEdit::parse(std::string text, const std::string& name) {
  MU_ASSIGN(const auto document, json::parse(text, name, json::Numbers::python));
  if (!document->root.is_object()) return input_error("json-syntax", "is not a JSON object", {}, {}, name);
  ConfigEdit edit;
  edit.text_ = std::move(text);
  return edit;
}

// The text is valid JSON, so the cursor cannot fail.
std::optional<ConfigEdit::Span> ConfigEdit::locate(std::string_view path, Extent* object) const {
  std::string copy = text_;  // strings are unescaped in place
  json::Cursor cursor(std::span<char>(copy), json::Cursor::deepest, json::Numbers::python);
  while (true) {
    if (cursor.next() != json::Kind::object) return std::nullopt;
    const std::string_view name = take_name(path);
    Span span;
    Extent extent;
    cursor.enter();
    extent.inside = extent.last_end = span.before = cursor.offset();
    bool is_entered = false;
    std::optional<Span> found;
    for (std::string_view key; cursor.member(key);) {
      span.key = extent.last_key = cursor.key_offset();
      const bool is_it = key == name && !found;
      cursor.next();
      span.begin = cursor.offset();
      if (is_it && !path.empty()) {
        is_entered = true;
        break;
      }
      cursor.skip();
      span.end = extent.last_end = cursor.offset();
      if (is_it) found = span;
      span.before = span.end;
      span.is_first = false;
    }
    if (is_entered) continue;
    if (object != nullptr && path.empty()) *object = extent;
    return found;
  }
}

void ConfigEdit::splice(std::size_t begin, std::size_t end, std::string_view with) {
  text_.replace(begin, end - begin, with);
  is_changed_ = true;
}

std::optional<std::string_view> ConfigEdit::find(std::string_view path) const {
  const std::optional<Span> span = locate(path);
  if (!span) return std::nullopt;
  return std::string_view(text_).substr(span->begin, span->end - span->begin);
}

void ConfigEdit::set(std::string_view path, std::string_view json) {
  Extent object;
  if (const std::optional<Span> span = locate(path, &object)) {
    if (std::string_view(text_).substr(span->begin, span->end - span->begin) != json) {
      splice(span->begin, span->end, json);
    }
    return;
  }
  if (object.inside == 0) return;  // no such object
  const std::string member = json_string(path.substr(path.rfind('/') + 1)) + ": " + std::string(json);
  if (object.last_end == object.inside) return splice(object.inside, object.inside, member);
  // The same white space as before the last member.
  std::size_t space = object.last_key;
  while (space > object.inside && text_.find_first_of(" \t\r\n", space - 1) == space - 1) --space;
  const std::string between = text_.substr(space, object.last_key - space);
  splice(object.last_end, object.last_end, "," + (between.empty() ? std::string(" ") : between) + member);
}

void ConfigEdit::remove(std::string_view path) {
  const std::optional<Span> span = locate(path);
  if (!span) return;
  if (!span->is_first) return splice(span->before, span->end, {});
  // Removing the first member also removes the comma and the white space after it.
  std::size_t end = span->end;
  std::size_t next = text_.find_first_not_of(" \t\r\n", end);
  if (next != std::string::npos && text_[next] == ',') {
    next = text_.find_first_not_of(" \t\r\n", next + 1);
    return splice(span->key, next, {});
  }
  splice(span->before, end, {});
}

void ConfigEdit::rename(std::string_view path, std::string_view name) {
  const std::optional<Span> span = locate(path);
  if (!span) return;
  const std::size_t colon = text_.rfind(':', span->begin);
  std::size_t end = colon;
  while (end > span->key && text_.find_first_of(" \t\r\n", end - 1) == end - 1) --end;
  splice(span->key, end, json_string(name));
}

void ConfigEdit::edit_list(
    std::string_view path,
    const std::function<std::optional<std::string>(std::size_t index, std::string_view json)>& change) {
  const std::optional<Span> span = locate(path);
  if (!span) return;
  const std::string list = text_.substr(span->begin, span->end - span->begin);
  std::string copy = list;
  json::Cursor cursor(std::span<char>(copy), json::Cursor::deepest, json::Numbers::python);
  if (cursor.next() != json::Kind::array) return;
  cursor.enter();
  std::string out = "[";
  std::size_t before = cursor.offset(), index = 0;
  bool is_first = true;
  while (cursor.element()) {
    cursor.next();
    const std::size_t begin = cursor.offset();
    cursor.skip();
    const std::size_t end = cursor.offset();
    const std::optional<std::string> changed = change(index++, std::string_view(list).substr(begin, end - begin));
    std::size_t space = begin;
    while (space > before && list.find_first_of(" \t\r\n", space - 1) == space - 1) --space;
    if (changed) {
      if (!is_first) out += ',';
      out += is_first && index > 1 ? std::string() : list.substr(space, begin - space);
      out += *changed;
      is_first = false;
    }
    before = end;
  }
  out += list.substr(before);
  if (out != list) splice(span->begin, span->end, out);
}

void ConfigEdit::edit_names(std::string_view path,
                            const std::function<std::optional<std::string>(std::string_view name)>& change) {
  const std::optional<Span> span = locate(path);
  if (!span) return;
  const std::string object = text_.substr(span->begin, span->end - span->begin);
  std::string copy = object;
  json::Cursor cursor(std::span<char>(copy), json::Cursor::deepest, json::Numbers::python);
  if (cursor.next() != json::Kind::object) return;
  cursor.enter();
  std::string out = "{";
  std::size_t before = cursor.offset();
  bool is_first = true;
  for (std::string_view key; cursor.member(key);) {
    const std::string name(key);
    const std::size_t begin = cursor.key_offset();
    cursor.next();
    std::size_t name_end = object.rfind(':', cursor.offset());
    while (object.find_first_of(" \t\r\n", name_end - 1) == name_end - 1) --name_end;
    cursor.skip();
    const std::size_t end = cursor.offset();
    if (const std::optional<std::string> changed = change(name)) {
      std::size_t space = begin;
      while (space > before && object.find_first_of(" \t\r\n", space - 1) == space - 1) --space;
      if (!is_first) out += ',';
      out += object.substr(space, begin - space);
      out += *changed == name ? object.substr(begin, name_end - begin) : json_string(*changed);
      out += object.substr(name_end, end - name_end);
      is_first = false;
    }
    before = end;
  }
  out += object.substr(before);
  if (out != object) splice(span->begin, span->end, out);
}

std::vector<std::string> ConfigEdit::names(std::string_view path) const {
  std::vector<std::string> found;
  std::string copy;
  if (path.empty()) {
    copy = text_;
  } else if (const auto value = find(path)) {
    copy = *value;
  }
  json::Cursor cursor(std::span<char>(copy), json::Cursor::deepest, json::Numbers::python);
  if (cursor.next() != json::Kind::object) return found;
  cursor.enter();
  for (std::string_view key; cursor.member(key);) {
    found.emplace_back(key);
    cursor.next();
    cursor.skip();
  }
  return found;
}

void ConfigEdit::replace(std::string text) {
  is_changed_ = is_changed_ || text != text_;
  text_ = std::move(text);
}

}  // namespace modelutils::hf
