// Python's two kinds of string formatting: "%s" % value and "{}".format(value).
#pragma once

#include "template/interpreter.h"

namespace modelutils::jinja {

/// `text` % `values`, where `values` is a tuple, a dict (for names in parentheses) or a single value. Supports %s, %d,
/// %f and %%, with flags, width and precision.
Outcome<Value> percent_format(Machine& machine, const Value& text, const Value& values);

/// `text`.format(…). Attributes and items are looked up by the sandbox's rules. Format specifications after a colon are
/// not supported.
Outcome<Value> brace_format(Interpreter& interpreter, const Value& text, const Call& call);

}  // namespace modelutils::jinja
