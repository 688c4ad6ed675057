// Python's operators on the values of a template.
#pragma once

#include "template/machine.h"
#include "template/syntax.h"

namespace modelutils::jinja {

bool is_true(const Value& value);

/// A binary operator: one of add … power of ExpressionKind.
Outcome<Value> binary(Machine& machine, ExpressionKind kind, const Value& left, const Value& right);
Outcome<Value> negative(Machine& machine, const Value& value);

Outcome<bool> equal(Machine& machine, const Value& left, const Value& right);
/// left < right, which must be of kinds that Python orders.
Outcome<bool> less(Machine& machine, const Value& left, const Value& right);
Outcome<bool> compare(Machine& machine, Comparison comparison, const Value& left, const Value& right);
/// item in container
Outcome<bool> contains(Machine& machine, const Value& container, const Value& item);

/// Sorts `order`, places in `keys`, stably by the keys; `reverse` as of sorted(): equal keys keep their order.
Outcome<void> sort_by_keys(Machine& machine, const std::vector<Value>& keys, bool reverse,
                           std::vector<std::size_t>& order);

/// dict[key] = value, which fails where hash_text() does.
Outcome<void> put(Machine& machine, Dict& dict, const Value& key, const Value& value);

/// A text that is the same for keys that Python holds equal. Fails for lists and dicts, which cannot be keys.
Outcome<std::string> hash_text(Machine& machine, const Value& key);

/// The values that iterating yields: characters, items, keys. Of an iterator what is left, and then nothing is left.
Outcome<std::vector<Value>> iterate(Machine& machine, const Value& value);
/// An integer that is one object in CPython, wherever it comes from.
constexpr bool is_shared_integer(i64 value) {
  return value >= -5 && value <= 256;
}

/// len(), of what has one.
Outcome<std::size_t> length(Machine& machine, const Value& value);

/// A real number or an integer as a double.
std::optional<double> as_real(const Value& value);
/// An integer or a boolean.
std::optional<i64> as_integer(const Value& value);
/// The same, or a TypeError that names `what`.
Outcome<i64> need_integer(Machine& machine, const Value& value, std::string_view what);

}  // namespace modelutils::jinja
