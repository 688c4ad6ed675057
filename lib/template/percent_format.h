// Python's two ways to put values into a text: "%s" % value, and "{}".format(value).
#pragma once

#include "template/calls.h"

namespace modelutils::jinja {

/// `text` % `values`: a tuple of values, a dict for names in parentheses, or one value. The codes are %s, %d, %f and
/// %%, with flags, width and precision.
Outcome<Value> percent_format(Machine& machine, const Value& text, const Value& values);

/// `text`.format(…), with attributes and items taken as the sandbox takes them, and without the mini-language behind
/// the colon of a field.
Outcome<Value> brace_format(Interpreter& interpreter, const Value& text, const Call& call);

}  // namespace modelutils::jinja
