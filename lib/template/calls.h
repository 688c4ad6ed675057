// Calls of macros, methods, filters, tests and globals.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "template/machine.h"

namespace modelutils::jinja {

/// What a template passes.
struct Call {
  std::vector<Value> positional = {};
  std::vector<std::pair<std::string, Value>> named = {};
};

class Interpreter;

/// A function or a method: `self` is what it was taken from, or the input of a filter or test.
using Native = Outcome<Value> (*)(Interpreter& interpreter, const Value& self, const Call& call);

struct Function : Object {
  Function(std::string_view title, Native code, Value of) : name(title), native(code), self(of) {}
  std::string_view name;
  Native native;  ///< nullptr: Python has it, we do not
  Value self;
};

std::string_view macro_name(const Value& macro);

/// Binds what was passed to names, in order; missing values are of kind `missing`. `name`: of the function, for
/// messages.
Outcome<std::vector<Value>> bind_arguments(Machine& machine, std::string_view name, const Call& call,
                                           std::span<const std::string_view> parameters, std::size_t required = 0);

}  // namespace modelutils::jinja
