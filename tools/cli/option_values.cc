#include "cli/option_values.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/types.h"

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
  constexpr std::string_view suffixes = "KMG";
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  const std::string_view suffix = text.substr(digits.size());
  const char letter = suffix.size() == 1 ? static_cast<char>(suffix[0] & ~0x20) : '\0';
  const std::size_t power = letter != '\0' ? suffixes.find(letter) : std::string_view::npos;
  if (digits.empty() || (!suffix.empty() && power == std::string_view::npos)) {
    return usage_error(fmt::format("{} needs a size such as {}, not '{}'", flag, examples, text));
  }
  MU_ASSIGN(const u64 number, parse_number(flag, digits));
  std::optional<u64> size = number;
  for (std::size_t i = 0; !suffix.empty() && i <= power; ++i) size = size ? checked_mul(*size, step) : std::nullopt;
  if (!size) return usage_error(fmt::format("{}: '{}' is too large: sizes are below 2^64 bytes", flag, text));
  return *size;
}

}  // namespace

Result<u64> parse_size(std::string_view flag, std::string_view text, u64 step) {
  return size_of(flag, text, step, "4096, 10K, 2M or 3G");
}

Status check_choice(const Flag& flag, const std::string& value) {
  if (flag.choices.empty() || std::find(flag.choices.begin(), flag.choices.end(), value) != flag.choices.end())
    return {};
  return usage_error(fmt::format("{} must be one of {}, not '{}'", flag.long_name(), joined(flag.choices), value));
}

Result<u64> parse_memory(std::string_view flag, std::string_view text) {
  constexpr u64 least = u64{1} << 20;
  std::string_view size = text;
  for (const std::string_view unit : {"iB", "ib", "IB", "B", "b"}) {
    // Only after K, M or G: "8B" would mean bytes.
    if (size.size() <= unit.size() || !size.ends_with(unit)) continue;
    const std::string_view rest = size.substr(0, size.size() - unit.size());
    if (std::string_view("KMGkmg").find(rest.back()) == std::string_view::npos) continue;
    size = rest;
    break;
  }
  MU_ASSIGN(const u64 bytes, size_of(flag, size, 1024, "512M, 24G, 24GB or 24GiB"));
  const bool is_bare = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_bare || bytes >= least) return bytes;
  if (bytes == 0 && flag == "--margin") return bytes;
  if (bytes == 0) return usage_error(fmt::format("{} needs a size such as 24G; leave it out if there is none", flag));
  return usage_error(fmt::format("{}: {} bytes? Write {}G", flag, text, text));
}

Result<u64> parse_binary_size(std::string_view flag, std::string_view text) {
  return parse_size(flag, text, 1024);
}

}  // namespace modelutils::cli
