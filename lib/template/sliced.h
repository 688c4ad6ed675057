// value[start:stop:step]
#pragma once

#include <optional>

#include "template/machine.h"

namespace modelutils::jinja {

/// Slices a text, list, tuple or range. `step` must not be 0.
Outcome<Value> sliced(Machine& machine, const Value& of, std::optional<i64> start, std::optional<i64> stop, i64 step);

/// Returns the characters [begin, end) of a text; both must be at most its length.
std::string_view characters(const Text& text, std::size_t begin, std::size_t end);

}  // namespace modelutils::jinja
