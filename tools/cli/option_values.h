// Parses the values of options.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"

namespace modelutils::cli {

/// Parses a decimal number. The error (usage) names the flag.
Result<u64> parse_number(std::string_view flag, std::string_view text);

/// Parses a number with an optional K, M or G: `step`, `step`², `step`³. The error (usage) names the flag.
Result<u64> parse_size(std::string_view flag, std::string_view text, u64 step);

/// Parses an amount of memory: like parse_size() with step 1024; also accepts "24GB" and "24GiB". Rejects a number
/// below 1 MiB without a unit, except 0. Errors (usage) name the flag.
Result<u64> parse_memory(std::string_view flag, std::string_view text);

/// Returns a usage error if the flag has choices and `value` is not one of them.
Status check_choice(const Flag& flag, const std::string& value);

}  // namespace modelutils::cli
