// Python's two ways to put values into a text: "%s" % value, and "{}".format(value).
#pragma once

#include "template/calls.h"

namespace modelutils::jinja {

/// `text` % `values`: a tuple of values, a dict for names in parentheses, or one value.
Outcome<Value> percent_format(Machine& machine, const Value& text, const Value& values);

/// `text`.format(…), with attributes and items taken as the sandbox takes them.
Outcome<Value> brace_format(Interpreter& interpreter, const Value& text, const Call& call);

/// A number or a text in a field: the mini-language behind the colon of "{:>8.2f}".
Outcome<std::string> format_value(Machine& machine, const Value& value, std::string_view specification);

}  // namespace modelutils::jinja
