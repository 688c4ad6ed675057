// The values that a pickle builds, as nodes in an arena. No value owns another, so a graph with 2^60 paths or nesting
// of 300,000 levels costs no more than its opcodes.
#include "formats/pytorch/pickle_machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <unordered_map>

namespace modelutils::pytorch {

namespace {

constexpr std::size_t chunk_bytes = 4096;
constexpr std::size_t small_numbers = 256;

/// The identity of a text or number as a dict key.
struct KeyIdentity {
  ValueKind kind;
  i64 number;
  bool operator==(const KeyIdentity&) const = default;
};

struct KeyHash {
  std::size_t operator()(const KeyIdentity& key) const {
    // NameIndex::hash() is keyed, so a file cannot provoke collisions.
    return NameIndex::hash({reinterpret_cast<const char*>(&key.number), sizeof key.number});
  }
};

std::optional<KeyIdentity> identity_of(const Value& key) {
  switch (key.kind) {
    case ValueKind::text:
    case ValueKind::bytes:
    case ValueKind::none: return KeyIdentity{key.kind, key.number};
    case ValueKind::boolean:
    case ValueKind::integer: return KeyIdentity{ValueKind::integer, key.number};
    case ValueKind::real: {
      constexpr double limit = 9223372036854775808.0;  // 2^63
      const auto number = std::bit_cast<double>(key.number);
      if (number >= -limit && number < limit && number == std::trunc(number)) {
        return KeyIdentity{ValueKind::integer, static_cast<i64>(number)};
      }
      return KeyIdentity{key.kind, key.number};
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::string_view kind_name(ValueKind kind) {
  constexpr std::array<std::string_view, 16> names = {"None",      "a bool",   "a number",  "a number beyond 64 bits",
                                                      "a float",   "a text",   "bytes",     "a tuple",
                                                      "a list",    "a dict",   "a set",     "a global",
                                                      "a storage", "a tensor", "an object", "an object"};
  return names[static_cast<std::size_t>(kind)];
}

Values::Values() {
  add({});
  add({ValueKind::boolean, false, 0, 0});
  add({ValueKind::boolean, false, 0, 1});
}

ValueId Values::add(Value value) {
  values_.push_back(value);
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Values::integer(i64 number) {
  const Value value{ValueKind::integer, false, 0, number};
  if (number < 0 || number >= static_cast<i64>(small_numbers)) return add(value);
  if (small_numbers_.empty()) small_numbers_.resize(small_numbers);
  ValueId& known = small_numbers_[static_cast<std::size_t>(number)];
  if (known == 0) known = add(value);
  return known;
}

ValueId Values::real(double number) {
  return add({ValueKind::real, false, 0, std::bit_cast<i64>(number)});
}

std::string_view Values::kept(std::string_view text) {
  if (text.size() > free_.size()) {
    const std::size_t size = std::max(chunk_bytes, text.size());
    chunks_.push_back(std::make_unique<char[]>(size));
    free_ = {chunks_.back().get(), size};
  }
  const std::span<char> to = free_.first(text.size());
  std::ranges::copy(text, to.begin());
  free_ = free_.subspan(text.size());
  return {to.data(), to.size()};
}

ValueId Values::add_text(ValueKind kind, std::string_view text) {
  std::optional<u32> number = texts_.find(text);
  if (!number) number = texts_.insert(kept(text)).number;
  return add({kind, false, 0, static_cast<i64>(*number)});
}

ValueId Values::add_tuple(std::span<const ValueId> items) {
  const auto first = static_cast<i64>(items_.size());
  items_.insert(items_.end(), items.begin(), items.end());
  return add({ValueKind::tuple, false, static_cast<u32>(items.size()), first});
}

ValueId Values::add_container(ValueKind kind, std::span<const ValueId> items) {
  const ValueId id = add({kind, false, 0, -1});  // most containers stay empty, so the first item allocates
  append(id, items);
  return id;
}

void Values::append(ValueId container, std::span<const ValueId> items) {
  if (items.empty()) return;
  Value& value = values_[container];
  if (value.number < 0) {
    value.number = static_cast<i64>(containers_.size());
    containers_.emplace_back();
    if (value.kind == ValueKind::dict) dicts_.push_back(container);
  }
  std::vector<ValueId>& to = containers_[static_cast<std::size_t>(value.number)];
  to.insert(to.end(), items.begin(), items.end());
}

void Values::merge_equal_keys() {
  for (const ValueId dict : dicts_) {
    std::vector<ValueId>& entries = containers_[static_cast<std::size_t>(values_[dict].number)];
    if (entries.size() <= 2) continue;
    std::unordered_map<KeyIdentity, std::size_t, KeyHash> first;
    std::size_t end = 0;
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      const ValueId value = entries[i + 1];
      const std::optional<KeyIdentity> key = identity_of(values_[entries[i]]);
      const std::size_t at = key ? first.emplace(*key, end).first->second : end;
      if (at == end) {
        entries[end] = entries[i];
        end += 2;
      }
      entries[at + 1] = value;
    }
    entries.resize(end);
  }
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
