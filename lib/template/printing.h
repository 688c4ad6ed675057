// Converts values to text: Python's str(), repr() and json.dumps().
#pragma once

#include <string>

#include "template/interpreter.h"

namespace modelutils::jinja {

/// Appends str(value), which {{ }} prints. Fails for values that Python prints with a memory address.
Outcome<void> append_str(Machine& machine, std::string& out, const Value& value);
Outcome<std::string> str(Machine& machine, const Value& value);
/// str() as a value; text is returned as is.
Outcome<Value> str_value(Machine& machine, const Value& value);

Outcome<void> append_repr(Machine& machine, std::string& out, const Value& value);

/// The arguments of the tojson filter.
struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  std::optional<std::string> indent = {};  ///< indentation per level; nullopt for a single line
  std::string between_items = ", ";
  std::string after_key = ": ";
};
Outcome<void> append_json(Machine& machine, std::string& out, const Value& value, const JsonStyle& style);

/// Returns the type's Python name, for messages: "str", "NoneType".
std::string_view type_name(const Value& value);

/// Returns the keys, values or items of a dict view, in order.
Outcome<std::vector<Value>> view_items(Machine& machine, const View& view);

}  // namespace modelutils::jinja
