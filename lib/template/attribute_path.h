// The `attribute` argument of filters: a dotted name such as "function.name", or an index.
#pragma once

#include "template/interpreter.h"

namespace modelutils::jinja {

/// The path from an item to the value that a filter uses: the item itself (empty path), or a nested attribute or item.
class AttributePath {
 public:
  AttributePath() = default;
  /// Parses `attribute`: missing or none selects the item itself; text is split at dots (numeric parts are indices);
  /// any other value is a single index. Fails for indices beyond 64 bits.
  static Outcome<AttributePath> of(Machine& machine, const Value& attribute);

  /// Follows the path from `item`. At each step an undefined result is replaced by `otherwise`, unless that is missing
  /// or none.
  Outcome<Value> get(Interpreter& interpreter, Value item, const Value& otherwise = {}) const;

 private:
  std::vector<Value> steps_;
};

/// Returns each item's key for sorting, grouping or comparing: the value at `path`, with text in lower case unless
/// `is_case_sensitive`.
Outcome<std::vector<Value>> keys_of(Interpreter& interpreter, const std::vector<Value>& items,
                                    const AttributePath& path, bool is_case_sensitive, const Value& otherwise = {});
/// Returns a text in lower case, and any other value unchanged.
Outcome<Value> without_case(Machine& machine, const Value& value);

}  // namespace modelutils::jinja
