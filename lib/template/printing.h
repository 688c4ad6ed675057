// Values as texts: str(), repr() and json.dumps() of Python.
#pragma once

#include <string>

#include "template/machine.h"

namespace modelutils::jinja {

/// str(): what {{ }} prints. Fails for what Python prints with an address in memory.
Outcome<void> append_str(Machine& machine, std::string& out, const Value& value);
Outcome<std::string> str(Machine& machine, const Value& value);
/// The same as a value: a text itself.
Outcome<Value> str_value(Machine& machine, const Value& value);

Outcome<void> append_repr(Machine& machine, std::string& out, const Value& value);

/// The arguments of the filter tojson.
struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  std::optional<std::string> indent = {};  ///< what each level adds; lines are broken only if it is there
  std::string between_items = ", ";
  std::string after_key = ": ";
};
Outcome<void> append_json(Machine& machine, std::string& out, const Value& value, const JsonStyle& style);

/// "str", "NoneType": the name of a value's type in messages.
std::string_view type_name(const Value& value);

/// All values of a mapping's view, in order.
Outcome<std::vector<Value>> view_items(Machine& machine, const View& view);

}  // namespace modelutils::jinja
