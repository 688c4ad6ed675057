// The argument `attribute` of filters: "function.name", or an index.
#pragma once

#include "template/interpreter.h"

namespace modelutils::jinja {

/// What a filter looks at in each item: the item itself, or an item of an item of it.
class AttributePath {
 public:
  AttributePath() = default;
  /// `attribute`: missing or none for the item itself, a text with dots, or an index.
  static Outcome<AttributePath> of(Machine& machine, const Value& attribute);

  Outcome<Value> get(Interpreter& interpreter, Value item, const Value& otherwise = {}) const;

 private:
  std::vector<Value> steps_;
};

/// The keys of items for sorting, grouping and comparing: by an attribute, texts in lower case unless case counts.
Outcome<std::vector<Value>> keys_of(Interpreter& interpreter, const std::vector<Value>& items,
                                    const AttributePath& path, bool is_case_sensitive, const Value& otherwise = {});
/// The key of one value.
Outcome<Value> without_case(Machine& machine, const Value& value);

}  // namespace modelutils::jinja
