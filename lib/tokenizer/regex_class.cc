#include "tokenizer/regex_class.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.h"

namespace modelutils::tokenizer {

namespace {

struct Category {
  std::string_view whole;
  std::vector<std::string> parts;
};

// Unicode's five general categories and their subcategories.
const std::array<Category, 5>& categories() {
  static const std::array<Category, 5> all = {{
      {"\\p{L}", {"\\p{Ll}", "\\p{Lm}", "\\p{Lo}", "\\p{Lt}", "\\p{Lu}"}},
      {"\\p{M}", {"\\p{Mc}", "\\p{Me}", "\\p{Mn}"}},
      {"\\p{N}", {"\\p{Nd}", "\\p{Nl}", "\\p{No}"}},
      {"\\p{P}", {"\\p{Pc}", "\\p{Pd}", "\\p{Pe}", "\\p{Pf}", "\\p{Pi}", "\\p{Po}", "\\p{Ps}"}},
      {"\\p{S}", {"\\p{Sc}", "\\p{Sk}", "\\p{Sm}", "\\p{So}"}},
  }};
  return all;
}

// Returns the complement of a property: \s and \S, \p{X} and \P{X}.
std::string opposite(std::string property) {
  char& letter = property[1];
  letter = static_cast<char>(letter ^ 0x20);
  return property;
}

}  // namespace

std::string regex_literal(char32_t value, bool in_class) {
  if (value == '\n') return "\\n";
  if (value == '\r') return "\\r";
  if (value == '\t') return "\\t";
  if (value < 0x20 || (value >= 0x7F && value < 0xA0)) return fmt::format("\\x{:02X}", static_cast<u32>(value));
  std::string text;
  const std::string_view special = in_class ? "\\[]^-&" : "\\[](){}.*+?^$|<>";
  if (value < 0x80 && special.find(static_cast<char>(value)) != std::string_view::npos) text += '\\';
  append_utf8(text, value);
  return text;
}

void RegexClass::add(char32_t first, char32_t last) {
  if (first <= last) ranges_.emplace_back(first, last);
}

void RegexClass::add_property(std::string property) {
  properties_.insert(std::move(property));
  for (const Category& category : categories()) {
    const bool complete = std::all_of(category.parts.begin(), category.parts.end(),
                                      [&](const std::string& part) { return properties_.count(part) != 0; });
    if (complete) properties_.insert(std::string(category.whole));
    if (properties_.count(std::string(category.whole)) == 0) continue;
    for (const std::string& part : category.parts) properties_.erase(part);
  }
}

void RegexClass::add_class(const RegexClass& nested) {
  if (nested.negated_ || !nested.cuts_.empty()) {
    add_property(nested.form());
    return;
  }
  ranges_.insert(ranges_.end(), nested.ranges_.begin(), nested.ranges_.end());
  for (const std::string& property : nested.properties_) add_property(property);
}

void RegexClass::ignore_case() {
  const std::size_t before = ranges_.size();
  for (std::size_t i = 0; i < before; ++i) {
    const auto [first, last] = ranges_[i];
    for (const auto& [low, high] : {std::pair(U'A', U'Z'), std::pair(U'a', U'z')}) {
      const char32_t from = std::max(first, low), to = std::min(last, high);
      if (from <= to) ranges_.emplace_back(from ^ 0x20, to ^ 0x20);
    }
  }
}

std::map<char32_t, char32_t> RegexClass::joined() const {
  auto sorted = ranges_;
  std::sort(sorted.begin(), sorted.end());
  std::map<char32_t, char32_t> joined;
  for (const auto& [first, last] : sorted) {
    if (!joined.empty() && first <= joined.rbegin()->second + 1) {
      joined.rbegin()->second = std::max(joined.rbegin()->second, last);
    } else {
      joined.emplace(first, last);
    }
  }
  return joined;
}

std::string RegexClass::form() const {
  const auto ranges = joined();
  if (cuts_.empty() && ranges.empty() && properties_.size() == 1 && properties_.begin()->front() == '\\') {
    return negated_ ? opposite(*properties_.begin()) : *properties_.begin();
  }
  if (cuts_.empty() && properties_.empty() && !negated_ && ranges.size() == 1 &&
      ranges.begin()->first == ranges.begin()->second) {
    return regex_literal(ranges.begin()->first, false);
  }
  std::string text = negated_ ? "[^" : "[";
  for (const auto& [first, last] : ranges) {
    text += regex_literal(first, true);
    if (last == first) continue;
    if (last > first + 1) text += '-';
    text += regex_literal(last, true);
  }
  for (const std::string& property : properties_) text += property;
  for (const std::string& cut : cuts_) text += "&&" + cut;
  return text + "]";
}

std::optional<std::vector<std::string>> RegexClass::members(std::size_t most) const {
  if (negated_ || !properties_.empty() || !cuts_.empty()) return std::nullopt;
  std::vector<std::string> members;
  for (const auto& [first, last] : joined()) {
    if (last - first >= most) return std::nullopt;
    for (char32_t value = first; value <= last; ++value) {
      members.emplace_back();
      append_utf8(members.back(), value);
      if (members.size() > most) return std::nullopt;
    }
  }
  return members;
}

}  // namespace modelutils::tokenizer
