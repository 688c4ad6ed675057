// Python's operators for template values.
#pragma once

#include <optional>

#include "template/interpreter.h"
#include "template/syntax.h"

namespace modelutils::jinja {

bool is_true(const Value& value);

/// Evaluates a binary operator: `kind` is one of add … power.
Outcome<Value> binary(Machine& machine, ExpressionKind kind, const Value& left, const Value& right);
Outcome<Value> negative(Machine& machine, const Value& value);

Outcome<bool> equal(Machine& machine, const Value& left, const Value& right);
/// left < right. Fails if Python does not order these types.
Outcome<bool> less(Machine& machine, const Value& left, const Value& right);
Outcome<bool> compare(Machine& machine, Comparison comparison, const Value& left, const Value& right);
/// True if `item in container`.
Outcome<bool> contains(Machine& machine, const Value& container, const Value& item);

/// Sorts the indices in `order` stably by their entries in `keys`. Like sorted(reverse=True), `reverse` keeps the order
/// of equal keys.
Outcome<void> sort_by_keys(Machine& machine, const std::vector<Value>& keys, bool reverse,
                           std::vector<std::size_t>& order);

/// dict[key] = value. Fails where hash_text() does.
Outcome<void> put(Machine& machine, Dict& dict, const Value& key, const Value& value);

/// Returns a text that is equal for keys that Python considers equal (1, 1.0, True). Fails for lists and dicts, which
/// are not hashable.
Outcome<std::string> hash_text(Machine& machine, const Value& key);

/// Returns the values that iteration yields: characters, items or keys. Exhausts an iterator.
Outcome<std::vector<Value>> iterate(Machine& machine, const Value& value);
/// True for the small integers that CPython interns, so that `is` holds for equal ones.
constexpr bool is_shared_integer(i64 value) {
  return value >= -5 && value <= 256;
}

/// len(). Fails for types without a length.
Outcome<std::size_t> length(Machine& machine, const Value& value);

/// Returns a float, integer or boolean as a double; nullopt for other kinds.
std::optional<double> as_real(const Value& value);
/// Returns an integer or boolean; nullopt for other kinds.
std::optional<i64> as_integer(const Value& value);
/// Like as_integer(), but fails with a TypeError that names `what`.
Outcome<i64> need_integer(Machine& machine, const Value& value, std::string_view what);

/// Slices a text, list, tuple or range. `step` must not be 0.
Outcome<Value> sliced(Machine& machine, const Value& of, std::optional<i64> start, std::optional<i64> stop, i64 step);

/// Returns the characters [begin, end) of a text; both must be at most its length.
std::string_view characters(const Text& text, std::size_t begin, std::size_t end);

}  // namespace modelutils::jinja
