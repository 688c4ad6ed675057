// What the values of options mean.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"

namespace modelutils::cli {

/// A decimal number. Error (usage): names the flag.
Result<u64> parse_number(std::string_view flag, std::string_view text);

/// A number and perhaps a K, M or G, each `step` times the one before. Error (usage): names the flag.
Result<u64> parse_size(std::string_view flag, std::string_view text, u64 step);

/// An amount of memory: as parse_size() in steps of 1024, also "24GB" and "24GiB". Errors (usage): names the flag; a
/// number below 1 MiB without a unit, except 0.
Result<u64> parse_memory(std::string_view flag, std::string_view text);

/// Error (usage): the flag has choices, and `value` is not among them.
Status check_choice(const Flag& flag, const std::string& value);

}  // namespace modelutils::cli
