// Lists in one line. fmt::join does the same, but every file that uses it compiles a second of formatters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// "a, b, c": the parts with `separator` between them; empty for none.
std::string joined(std::span<const std::string> parts, std::string_view separator = ", ");
std::string joined(std::span<const std::string_view> parts, std::string_view separator = ", ");
/// Plain decimal numbers.
std::string joined(std::span<const u64> numbers, std::string_view separator = ", ");

}  // namespace modelutils
