#include "template/attribute_path.h"

#include <algorithm>

#include "template/python_literals.h"
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
