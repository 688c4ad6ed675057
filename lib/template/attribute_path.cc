#include "template/attribute_path.h"

#include <algorithm>

#include "template/numbers.h"
#include "template/python_text.h"
#include "template/text_arguments.h"

namespace modelutils::jinja {

Outcome<AttributePath> AttributePath::of(Machine& machine, const Value& attribute) {
  AttributePath path;
  if (attribute.is(Kind::missing) || attribute.is(Kind::none)) return path;
  if (!attribute.is(Kind::text)) {
    path.steps_.push_back(attribute);
    return path;
  }
  MU_TRY(machine.charge(attribute.view().size()));
  for (const std::string_view part : split_at(attribute.view(), ".", -1)) {
    const bool is_index = !part.empty() && part.size() < 18 && std::all_of(part.begin(), part.end(), [](char c) {
      return is_digit(static_cast<u8>(c)) && static_cast<u8>(c) < 0x80;
    });
    if (is_index) {
      i64 index = 0;
      for (const char c : part) index = index * 10 + (c - '0');
      path.steps_.push_back(Value::of(index));
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
  MU_TRY(machine.charge(value.view().size() / 16));
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
