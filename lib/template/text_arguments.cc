#include "template/text_arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "template/printing.h"
#include "template/python_literals.h"
#include "template/python_text.h"

namespace modelutils::jinja {

Outcome<void> charge_search(Machine& machine, std::string_view text, std::string_view wanted) {
  if (wanted.size() > text.size()) return machine.charge(1);
  const u64 places = text.size() - wanted.size() + 1;
  return machine.charge(1 + text.size() / 64 + (places + 15) / 16 * (1 + wanted.size() / 64));
}

Outcome<std::string_view> plain_text(Machine& machine, const Value& value) {
  if (value.as<Text>().is_markup) return machine.unsupported("this method of a text that is marked as safe");
  return value.view();
}

Outcome<std::string_view> text_argument(Machine& machine, const Value& value, std::string_view what) {
  if (!value.is(Kind::text)) {
    return machine.raise(fmt::format("{} must be str, not {}", what, type_name(value)));
  }
  return value.view();
}

Outcome<Value> texts(Machine& machine, const std::vector<std::string_view>& parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (const std::string_view part : parts) {
    MU_ASSIGN(const Value item, machine.text(std::string(part)));
    items.push_back(item);
  }
  return machine.list(std::move(items));
}

Outcome<Value> strip_value(Machine& machine, const Value& text, const Call& call, Side side) {
  constexpr std::string_view parameters[] = {"chars"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "strip", call, parameters));
  const bool drops_blanks = values[0].is(Kind::missing) || values[0].is(Kind::none);
  std::string_view characters;
  if (!drops_blanks) {
    MU_ASSIGN(characters, text_argument(machine, values[0], "strip arg"));
  }
  Outcome<void> charged;
  const std::string_view rest = strip_if(text.view(), side, [&](std::string_view one, char32_t c) {
    charged = machine.charge(1 + characters.size() / 64);
    // UTF-8 is self-synchronising, so a match is always a whole character.
    return charged && (drops_blanks ? is_space(c) : characters.find(one) != characters.npos);
  });
  MU_TRY(charged);
  if (rest.size() == text.view().size()) return text;
  return machine.text(std::string(rest), text.as<Text>().is_markup);
}

std::vector<std::string_view> split_blanks(std::string_view text, i64 most) {
  std::vector<std::string_view> parts;
  text = strip(text, Side::left);
  while (!text.empty()) {
    if (most >= 0 && static_cast<i64>(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const CodePoint point = decode_utf8(text.substr(end));
      if (is_space(point.value)) break;
      end += point.size;
    }
    parts.push_back(text.substr(0, end));
    text = strip(text.substr(end), Side::left);
  }
  return parts;
}

std::vector<std::string_view> split_blanks_from_right(std::string_view text, i64 most) {
  std::vector<std::string_view> parts;
  text = strip(text, Side::right);
  while (!text.empty()) {
    if (most >= 0 && static_cast<i64>(parts.size()) == most) {
      parts.push_back(text);
      break;
    }
    std::size_t begin = text.size();
    while (begin > 0) {
      std::size_t before = begin - 1;
      while (before > 0 && (static_cast<u8>(text[before]) & 0xc0) == 0x80) --before;
      if (is_space(decode_utf8(text.substr(before)).value)) break;
      begin = before;
    }
    parts.push_back(text.substr(begin));
    text = strip(text.substr(0, begin), Side::right);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, i64 most) {
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<i64>(parts.size()) < most) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator, i64 most) {
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<i64>(parts.size()) < most) {
    const std::size_t at = text.rfind(separator);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::size_t occurrences(std::string_view text, std::string_view wanted) {
  std::size_t count = 0;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + wanted.size())) {
    ++count;
  }
  return count;
}

Outcome<std::vector<std::string_view>> lines_of(Machine& machine, std::string_view text, bool keep_ends) {
  MU_TRY(machine.charge(text.size() / 8));
  const auto ends_line = [](char32_t c) {
    return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
  };
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text.substr(at));
    std::size_t end = at + point.size;
    if (ends_line(point.value)) {
      if (point.value == '\r' && end < text.size() && text[end] == '\n') ++end;
      MU_TRY(machine.reserve(2 * sizeof(std::string_view)));  // includes the vector's spare capacity
      lines.push_back(text.substr(begin, (keep_ends ? end : at) - begin));
      begin = end;
    }
    at = end;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

Outcome<Value> replaced(Machine& machine, std::string_view text, std::string_view before, std::string_view after,
                        i64 most) {
  MU_TRY(charge_search(machine, text, before));
  const u64 left = most < 0 ? std::numeric_limits<u64>::max() : static_cast<u64>(most);
  std::string out;
  u64 count = 0;
  std::size_t at = 0;
  if (before.empty()) {
    // Inserts `after` between all characters, at the beginning and at the end.
    while (count < left) {
      MU_TRY(machine.reserve(after.size() + 4));
      out += after;
      ++count;
      if (at == text.size()) return machine.text(std::move(out));
      const std::size_t size = bytes_of(text.substr(at), 1);
      out += text.substr(at, size);
      at += size;
    }
  } else {
    for (std::size_t found = text.find(before); found != std::string_view::npos && count < left;
         found = text.find(before, at)) {
      MU_TRY(machine.reserve(found - at + after.size()));
      out += text.substr(at, found - at);
      out += after;
      at = found + before.size();
      ++count;
    }
  }
  MU_TRY(machine.reserve(text.size() - at));
  out += text.substr(at);
  return machine.text(std::move(out));
}

Outcome<AttributePath> AttributePath::of(Machine& machine, const Value& attribute) {
  AttributePath path;
  if (attribute.is(Kind::missing) || attribute.is(Kind::none)) return path;
  if (!attribute.is(Kind::text)) {
    path.steps_.push_back(attribute);
    return path;
  }
  MU_TRY(machine.charge(attribute.view().size()));
  MU_TRY(machine.reserve((1 + occurrences(attribute.view(), ".")) * sizeof(std::string_view)));
  for (const std::string_view part : split_at(attribute.view(), ".", -1)) {
    const bool is_index =
        !part.empty() && each_character(part, [](char32_t c, std::size_t, std::size_t) { return is_digit(c); });
    if (is_index) {
      Heap numbers;
      const std::optional<Value> index = integer_of_text(part, 10, numbers);
      if (!index || !index->is(Kind::integer)) return machine.unsupported("an index beyond 64 bits");
      path.steps_.push_back(*index);
    } else {
      MU_ASSIGN(const Value name, machine.text(std::string(part)));
      path.steps_.push_back(name);
    }
  }
  return path;
}

Outcome<Value> AttributePath::get(Interpreter& interpreter, Value item, const Value& otherwise) const {
  for (const Value& step : steps_) {
    MU_ASSIGN(item, interpreter.item(item, step));
    if (item.is(Kind::undefined) && !otherwise.is(Kind::missing) && !otherwise.is(Kind::none)) item = otherwise;
  }
  return item;
}

Outcome<Value> without_case(Machine& machine, const Value& value) {
  if (!value.is(Kind::text)) return value;
  MU_TRY(machine.charge(value.view().size() / 8));
  MU_TRY(machine.reserve(value.view().size()));
  return machine.text(*lower(value.view()));
}

Outcome<std::vector<Value>> keys_of(Interpreter& interpreter, const std::vector<Value>& items,
                                    const AttributePath& path, bool is_case_sensitive, const Value& otherwise) {
  std::vector<Value> keys;
  MU_TRY(interpreter.machine().reserve(items.size() * sizeof(Value)));
  keys.reserve(items.size());
  for (const Value& item : items) {
    MU_ASSIGN(Value key, path.get(interpreter, item, otherwise));
    if (!is_case_sensitive) {
      MU_ASSIGN(key, without_case(interpreter.machine(), key));
    }
    keys.push_back(key);
  }
  return keys;
}

}  // namespace modelutils::jinja
