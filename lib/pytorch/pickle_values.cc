#include "pytorch/pickle_values.h"

#include <array>

namespace modelutils::pytorch {

std::string_view kind_name(ValueKind kind) {
  constexpr std::array<std::string_view, 16> names = {"None",      "a bool",   "a number",  "a number beyond 64 bits",
                                                      "a float",   "a text",   "bytes",     "a tuple",
                                                      "a list",    "a dict",   "a set",     "a global",
                                                      "a storage", "a tensor", "an object", "an object"};
  return names[static_cast<std::size_t>(kind)];
}

ValueId Values::add(Value value) {
  values_.push_back(value);
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Values::add_text(ValueKind kind, std::string_view text) {
  const auto first = static_cast<i64>(texts_.size());
  texts_.append(text);
  return add({kind, false, static_cast<u32>(text.size()), first});
}

ValueId Values::add_tuple(std::span<const ValueId> items) {
  const auto first = static_cast<i64>(items_.size());
  items_.insert(items_.end(), items.begin(), items.end());
  return add({ValueKind::tuple, false, static_cast<u32>(items.size()), first});
}

ValueId Values::add_container(ValueKind kind, std::span<const ValueId> items) {
  const ValueId id = add({kind, false, 0, -1});  // most stay empty: a container is made with the first item
  append(id, items);
  return id;
}

void Values::append(ValueId container, std::span<const ValueId> items) {
  if (items.empty()) return;
  Value& value = values_[container];
  if (value.number < 0) {
    value.number = static_cast<i64>(containers_.size());
    containers_.emplace_back();
  }
  std::vector<ValueId>& to = containers_[static_cast<std::size_t>(value.number)];
  to.insert(to.end(), items.begin(), items.end());
}

std::string_view Values::text(ValueId id) const {
  const Value& value = values_[id];
  return std::string_view(texts_).substr(static_cast<std::size_t>(value.number), value.count);
}

std::span<const ValueId> Values::items(ValueId id) const {
  const Value& value = values_[id];
  if (value.kind == ValueKind::tuple) {
    return std::span(items_).subspan(static_cast<std::size_t>(value.number), value.count);
  }
  if (value.number < 0) return {};
  return containers_[static_cast<std::size_t>(value.number)];
}

const ValueId* Values::find(ValueId dict, std::string_view key) const {
  const std::span<const ValueId> entries = items(dict);
  for (std::size_t i = entries.size(); i >= 2; i -= 2) {
    const ValueId name = entries[i - 2];
    if (is(name, ValueKind::text) && text(name) == key) return &entries[i - 1];
  }
  return nullptr;
}

}  // namespace modelutils::pytorch
