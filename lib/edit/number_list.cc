#include "edit/number_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace modelutils::edit {

namespace {

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::optional<u64> number_of(std::string_view text) {
  text = without_blanks(text);
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool looks_like_number_list(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789,- ") == std::string_view::npos;
}

Result<std::vector<u64>> parse_number_list(std::string_view text, u64 end, std::string_view what,
                                           const std::string& operation) {
  std::vector<u64> numbers;
  const std::string whole(without_blanks(text));
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::optional<u64> first = number_of(part.substr(0, dash));
    const std::optional<u64> last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return usage_error(fmt::format("{} needs a list like 0-31,40, not '{}'", operation, whole));
    }
    if (*last >= end) {
      return input_error("edit-number", fmt::format("{}: there is no {} {}; the last is {}", operation, what, *last,
                                                    end == 0 ? 0 : end - 1));
    }
    for (u64 number = *first; number <= *last; ++number) numbers.push_back(number);
    if (numbers.size() > 2 * end) {  // repeats must not use unlimited memory
      std::ranges::sort(numbers);
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace modelutils::edit
