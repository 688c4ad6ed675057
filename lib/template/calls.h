// Calls of macros, methods, filters, tests and globals.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "template/machine.h"

namespace modelutils::jinja {

/// The arguments passed by a template, after evaluation.
struct Call {
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string, Value>> named = {};
};

class Interpreter;

/// A built-in function, method, filter or test. `self` is the object of a method, or the input of a filter or test.
using Native = Outcome<Value> (*)(Interpreter& interpreter, const Value& self, const Call& call);

struct Function : Object {
  Function(std::string_view title, Native code, Value of) : name(title), native(code), self(of) {}
  std::string_view name;
  Native native;  ///< nullptr if Python has it and this engine does not
  Value self;
};

std::string_view macro_name(const Value& macro);

/// Binds the arguments to `parameters`, in order. Absent ones have the kind `missing`; fails if one of the first
/// `required` is absent, or on unknown or repeated arguments. `name` is the function's name, for messages.
Outcome<std::vector<Value>> bind_arguments(Machine& machine, std::string_view name, const Call& call,
                                           std::span<const std::string_view> parameters, std::size_t required = 0);

}  // namespace modelutils::jinja
