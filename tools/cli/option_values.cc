#include "cli/option_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/not_found.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/types.h"
#include "model/memory/exact_sizes.h"

namespace modelutils::cli {

Result<u64> parse_number(std::string_view flag, std::string_view text) {
  u64 value = 0;
  if (text.empty()) return usage_error(fmt::format("{} needs a whole number, such as 8", flag));
  for (char c : text) {
    if (c < '0' || c > '9') return usage_error(fmt::format("{} needs a whole number, such as 8, not '{}'", flag, text));
    if (__builtin_mul_overflow(value, u64{10}, &value) ||
        __builtin_add_overflow(value, static_cast<u64>(c - '0'), &value)) {
      return usage_error(fmt::format("{}: '{}' is outside 0 to {}", flag, text, ~u64{0}));
    }
  }
  return value;
}

namespace {

// `examples` lists valid sizes for the error message.
Result<u64> size_of(std::string_view flag, std::string_view text, u64 step, std::string_view examples) {
  u64 bytes = 0;
  const std::errc error = parse_bytes(text, step, bytes);
  if (error == std::errc()) return bytes;
  if (error == std::errc::result_out_of_range)
    return usage_error(fmt::format("{}: '{}' is too large: sizes are below 2^64 bytes", flag, text));
  return usage_error(fmt::format("{} needs a size such as {}, not '{}'", flag, examples, text));
}

}  // namespace

Result<u64> parse_size(std::string_view flag, std::string_view text, u64 step) {
  return size_of(flag, text, step, "4096, 10K, 2M or 1.5G");
}

Result<u64> parse_tokens(std::string_view flag, std::string_view text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  const std::string_view suffix = text.substr(digits.size());
  const u64 step = suffix.empty()                   ? 1
                   : suffix == "K" || suffix == "k" ? u64{1} << 10
                   : suffix == "M" || suffix == "m" ? u64{1} << 20
                                                    : 0;
  u64 number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const std::optional<u64> tokens = error == std::errc{} ? checked_mul(number, step) : std::nullopt;
  if (tokens.value_or(0) > 0) return *tokens;
  return usage_error(fmt::format("{} needs a number of tokens, such as 8192 or 32K, not '{}'", flag, text));
}

namespace {

Result<TensorType> parse_cache_type(std::string_view name) {
  const std::optional<TensorType> type = type_from_name(name);
  if (type && memory::is_cache_type(*type)) return *type;
  return usage_error(
      fmt::format("--kv takes f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 and iq4_nl, or two of them separated by a "
                  "comma, not '{}'",
                  name));
}

}  // namespace

Result<std::pair<TensorType, TensorType>> parse_cache_types(std::string_view text) {
  const std::size_t comma = text.find(',');
  MU_ASSIGN(const TensorType keys, parse_cache_type(text.substr(0, comma)));
  if (comma == std::string_view::npos) return std::pair(keys, keys);
  MU_ASSIGN(const TensorType values, parse_cache_type(text.substr(comma + 1)));
  return std::pair(keys, values);
}

Status check_choice(const Flag& flag, const std::string& value) {
  if (flag.choices.empty() || std::find(flag.choices.begin(), flag.choices.end(), value) != flag.choices.end())
    return {};
  ClosestName closest(value);
  for (const std::string& choice : flag.choices) closest.offer(choice);
  return usage_error(
      fmt::format("{} must be one of {}, not '{}'{}", flag.long_name(), joined(flag.choices), value, closest.hint()));
}

Result<u64> parse_memory(std::string_view flag, std::string_view text) {
  constexpr u64 least = u64{1} << 20;
  MU_ASSIGN(const u64 bytes, size_of(flag, text, 1024, "512M, 1.5G, 24GB or 24GiB"));
  const bool is_bare = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_bare || bytes >= least) return bytes;
  if (bytes == 0 && flag == "--margin") return bytes;
  if (bytes == 0) return usage_error(fmt::format("{} needs a size such as 24G; leave it out if there is none", flag));
  return usage_error(fmt::format("{}: {} bytes? Write {}G", flag, text, text));
}

bool is_mentioned(std::string_view names, const std::vector<std::string>& arguments) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    const bool is_long = name.starts_with("--");
    for (const std::string_view argument : arguments) {
      if (!argument.starts_with('-')) continue;
      if (is_long ? argument.substr(0, argument.find('=')) == name : argument.find(name[1], 1) != argument.npos)
        return true;
    }
  }
  return false;
}

}  // namespace modelutils::cli
