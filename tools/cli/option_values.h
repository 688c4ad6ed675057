// Parses the values of options.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "tensor/types.h"

namespace modelutils::cli {

/// Parses a decimal number. The error (usage) names the flag.
Result<u64> parse_number(std::string_view flag, std::string_view text);

/// Parses a size like parse_bytes() (base/parse_number.h): "4096", "2M", "1.5GiB". The error (usage) names the flag.
Result<u64> parse_size(std::string_view flag, std::string_view text, u64 step);

/// Parses an amount of memory: like parse_size() with step 1024. Rejects a number below 1 MiB without a unit, except 0.
/// Errors (usage) name the flag.
Result<u64> parse_memory(std::string_view flag, std::string_view text);

/// Parses a number of tokens, at least 1, with an optional K or M of powers of 1024. The error (usage) names the flag.
Result<u64> parse_tokens(std::string_view flag, std::string_view text);

/// Parses the types of a KV cache, for keys and for values: "q8_0", or "q8_0,q4_0". The error (usage) names --kv.
Result<std::pair<TensorType, TensorType>> parse_cache_types(std::string_view text);

/// Returns a usage error if the flag has choices and `value` is not one of them.
Status check_choice(const Flag& flag, const std::string& value);

/// True if an argument may be a flag with these names, such as "-o,--output". Also true for some that are not: "-o" may
/// be a value, or its letter may be part of one.
bool is_mentioned(std::string_view names, const std::vector<std::string>& arguments);

}  // namespace modelutils::cli
