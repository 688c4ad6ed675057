#include "edit/safetensors/module_patterns.h"

#include <algorithm>
#include <array>

namespace modelutils::to_safetensors {

namespace {

constexpr std::string_view digits = "0123456789";

bool is_expression(std::string_view pattern) {
  return std::ranges::any_of(std::array<std::string_view, 3>{"re:", "+:", "-:"},
                             [&](std::string_view start) { return pattern.starts_with(start); });
}

// Returns the position after "layers." or "layers\."; npos if the pattern has neither.
std::size_t behind_word(std::string_view pattern, std::string_view word) {
  for (std::size_t at = pattern.find(word); at != pattern.npos; at = pattern.find(word, at + 1)) {
    const bool is_whole = at == 0 || std::string_view(".*\\^)").find(pattern[at - 1]) != std::string_view::npos;
    const std::string_view rest = pattern.substr(at + word.size());
    if (is_whole && rest.starts_with('.')) return at + word.size() + 1;
    if (is_whole && rest.starts_with("\\.")) return at + word.size() + 2;
  }
  return pattern.npos;
}

// True if `rest`, the pattern after "layers.", begins with a wildcard that matches every layer number.
bool is_any_number(std::string_view rest, bool expression) {
  if (!expression) return rest.starts_with('*');
  if (rest.starts_with('(')) rest.remove_prefix(1);
  for (const std::string_view any : {"\\d+", "[0-9]+", "[^.]+", "[^\\.]+", ".*", ".+", "\\w+", "*"}) {
    if (rest.starts_with(any)) return true;
  }
  return false;
}

// Returns the patterns for a glob with some digits of the number: "layers.3*" selects layers 3 and 30.
std::vector<std::string> of_glob(const std::string& pattern, std::size_t at, std::size_t end,
                                 const LayerNumbers& layers) {
  const std::string before = pattern.substr(0, at), start = pattern.substr(at, end - at);
  const std::string after = pattern.substr(end + 1);
  std::vector<std::string> listed;
  bool is_changed = false;
  for (const u64 layer : layers.present) {
    if (!std::to_string(layer).starts_with(start)) continue;
    const std::optional<u64> number = layers.number(layer);
    is_changed = is_changed || number != layer;
    if (!number) continue;
    const std::string same = before + std::to_string(*number);
    if (!after.empty()) listed.push_back(same + after);
    listed.push_back(same + ".*" + after);
  }
  return is_changed ? listed : std::vector{pattern};
}

}  // namespace

std::optional<std::vector<std::string>> renumbered_pattern(const std::string& pattern, const LayerNumbers& layers) {
  const std::vector<std::string> same = {pattern};
  std::size_t at = pattern.npos;
  for (const std::string_view word : layers.words) at = std::min(at, behind_word(pattern, word));
  if (at >= pattern.size()) return same;
  const bool expression = is_expression(pattern);
  const std::size_t end = std::min(pattern.find_first_not_of(digits, at), pattern.size());
  if (end == at)
    return is_any_number(std::string_view(pattern).substr(at), expression) ? std::optional(same) : std::nullopt;
  constexpr std::size_t most_digits = 9;
  if (end - at > most_digits) return std::nullopt;
  const std::string_view rest = std::string_view(pattern).substr(end);
  if (!expression && rest.starts_with('*')) return of_glob(pattern, at, end, layers);
  // In an expression, an unescaped dot may be another digit.
  const bool may_go_on = expression && (rest.starts_with(".*") || rest.starts_with(".+") || rest.starts_with(".?"));
  const bool is_whole = rest.empty() || std::string_view(".\\$/").find(rest.front()) != std::string_view::npos;
  if (!is_whole || may_go_on) return std::nullopt;
  const std::optional<u64> number = layers.number(std::stoul(pattern.substr(at, end - at)));
  if (!number) return std::vector<std::string>();
  return std::vector{pattern.substr(0, at) + std::to_string(*number) + std::string(rest)};
}

}  // namespace modelutils::to_safetensors
