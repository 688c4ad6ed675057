#include "adapter/module_pattern.h"

#include <optional>
#include <vector>

namespace modelutils::adapter {

namespace {

struct Item {
  enum class Kind : unsigned char { letter, any, digit } kind = Kind::letter;
  char letter = 0;
  bool may_be_absent = false;
  bool may_repeat = false;

  bool takes(char c) const {
    if (kind == Kind::any) return c != '\n';
    return kind == Kind::digit ? c >= '0' && c <= '9' : c == letter;
  }
};

std::optional<std::vector<Item>> parse(std::string_view pattern) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '*' || c == '+') {
      if (items.empty() || items.back().may_repeat) return std::nullopt;
      if (c == '+') items.push_back(items.back());  // x+ is xx*
      items.back().may_repeat = items.back().may_be_absent = true;
      continue;
    }
    Item item;
    if (c == '\\') {
      if (++i == pattern.size()) return std::nullopt;
      const bool is_digit = pattern[i] == 'd';
      if (!is_digit && std::string_view(".^$*+-_\\").find(pattern[i]) == std::string_view::npos) return std::nullopt;
      item.kind = is_digit ? Item::Kind::digit : Item::Kind::letter;
      item.letter = pattern[i];
    } else if (c == '.') {
      item.kind = Item::Kind::any;
    } else if (std::string_view("()[]{}|?$^").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      item.letter = c;
    }
    items.push_back(item);
  }
  return items;
}

// Does all of `text` match? States: how many items are behind.
bool matches(const std::vector<Item>& items, std::string_view text) {
  std::vector<bool> states(items.size() + 1);
  states[0] = true;
  const auto pass_absent = [&](std::vector<bool>& at) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (at[i] && items[i].may_be_absent) at[i + 1] = true;
    }
  };
  pass_absent(states);
  for (const char c : text) {
    std::vector<bool> next(items.size() + 1);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!states[i] || !items[i].takes(c)) continue;
      next[items[i].may_repeat ? i : i + 1] = true;
    }
    pass_absent(next);
    states = std::move(next);
  }
  return states.back();
}

}  // namespace

bool is_module_pattern(std::string_view pattern) {
  if (pattern.starts_with('^')) pattern.remove_prefix(1);
  return !pattern.empty() && parse(pattern).has_value();
}

bool names_module(std::string_view pattern, std::string_view name) {
  const bool is_anchored = pattern.starts_with('^');
  if (is_anchored) pattern.remove_prefix(1);
  const std::optional<std::vector<Item>> items = parse(pattern);
  if (!items || items->empty()) return false;
  if (matches(*items, name)) return true;
  for (std::size_t dot = name.find('.'); !is_anchored && dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (matches(*items, name.substr(dot + 1))) return true;
  }
  return false;
}

}  // namespace modelutils::adapter
