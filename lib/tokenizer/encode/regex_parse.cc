#include "tokenizer/encode/regex_parse.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/regex_alphabet.h"

namespace modelutils::tokenizer {

namespace {

using Set = EncodeRegex::Set;
using Kind = RegexNode::Kind;

void add(Set& set, char32_t first, char32_t last) {
  set.ranges.emplace_back(first, last);
}
void add(Set& set, char32_t symbol) {
  add(set, symbol, symbol);
}

void add_class(Set& set, std::string_view name) {
  const auto add_ascii = [&](std::string_view of) {
    for (char32_t c = 0; c < 0x80; ++c) {
      const CharacterClass is = character_class(c);
      const bool wanted = of == "N"   ? is == CharacterClass::number
                          : of == "L" ? is == CharacterClass::letter
                          : of == "P" ? is == CharacterClass::punctuation
                                      : of == "S" && is == CharacterClass::symbol;
      if (wanted) add(set, c);
    }
  };
  if (name == "Han") return add(set, han_letter_symbol, han_other_symbol);
  name = name.substr(0, 1);  // Lu, Ll … count as letters
  add_ascii(name);
  if (name == "L") {
    add(set, letter_symbol);
    add(set, han_letter_symbol);
  }
  if (name == "M") add(set, mark_symbol);
  if (name == "N") add(set, number_symbol);
  if (name == "P") add(set, punctuation_symbol);
  if (name == "S") add(set, symbol_symbol);
}

void remove_han(Set& set) {
  std::erase_if(set.ranges, [](const auto& range) { return range.first >= han_letter_symbol; });
}

Set finished(Set set, bool negated) {
  std::sort(set.ranges.begin(), set.ranges.end());
  set.negated = negated;
  for (char32_t c = 0; c < set.low.size(); ++c) {
    const bool is_listed = std::any_of(set.ranges.begin(), set.ranges.end(),
                                       [&](const auto& range) { return range.first <= c && c <= range.second; });
    set.low[c] = is_listed != negated;
  }
  // Ranges must not overlap, because contains() uses a binary search.
  std::vector<std::pair<char32_t, char32_t>> merged;
  for (const auto& range : set.ranges) {
    if (!merged.empty() && range.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  set.ranges = std::move(merged);
  return set;
}

class EncodeRegexParser {
 public:
  EncodeRegexParser(std::string_view regex, RegexAlphabet alphabet)
      : text_(code_points(regex)), regex_(regex), alphabet_(alphabet) {}

  Result<RegexNode> parse() {
    RegexNode node = alternatives();
    if (at_ != text_.size()) broken_ = true;
    if (broken_) return internal_error(fmt::format("the regex '{}' is not supported at {}", regex_, at_));
    return node;
  }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char32_t peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }
  bool take(char32_t wanted) {
    const bool is = !at_end() && peek() == wanted;
    if (is) ++at_;
    return is;
  }
  bool take_all(std::string_view wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (peek(i) != static_cast<char32_t>(wanted[i])) return false;
    }
    at_ += wanted.size();
    return true;
  }
  char32_t next() {
    if (at_end()) broken_ = true;
    return at_end() ? 0 : text_[at_++];
  }

  RegexNode alternatives() {
    RegexNode all{.kind = Kind::alternatives};
    do all.children.push_back(sequence());
    while (take('|'));
    return all.children.size() == 1 ? std::move(all.children.front()) : std::move(all);
  }

  RegexNode sequence() {
    RegexNode all;
    while (!at_end() && peek() != '|' && peek() != ')' && !broken_) all.children.push_back(repeated(atom()));
    return all;
  }

  RegexNode repeated(RegexNode of) {
    RegexNode node{.kind = Kind::repeat};
    if (take('?')) {
      node.most = 1;
    } else if (take('+')) {
      node.least = 1;
    } else if (take('{')) {
      node.least = node.most = number();
      if (take(',')) node.most = number();
      if (!take('}') || node.most < node.least || node.most == 0) broken_ = true;
    } else if (!take('*')) {
      return of;
    }
    if (of.matches_empty()) broken_ = true;
    node.children.push_back(std::move(of));
    return node;
  }

  u32 number() {
    u32 value = 0;
    while (peek() >= '0' && peek() <= '9' && value < 1000) value = value * 10 + static_cast<u32>(next() - '0');
    return value;
  }

  RegexNode atom() {
    if (take_all("(?=")) return look(Kind::look);
    if (take_all("(?!")) return look(Kind::look_not);
    if (take('(')) {
      const bool folds = take_all("?i:");
      if (!folds) take_all("?:");
      folds_ += folds ? 1 : 0;
      RegexNode group = alternatives();
      folds_ -= folds ? 1 : 0;
      if (!take(')')) broken_ = true;
      return group;
    }
    if (take('$')) return {.kind = Kind::end};
    return {.kind = Kind::one, .set = set()};
  }

  RegexNode look(Kind kind) {
    RegexNode node{.kind = kind, .set = set()};
    if (!take(')')) broken_ = true;
    return node;
  }

  // Parses one character, an escape or a class in brackets.
  Set set() {
    if (take('[')) return brackets();
    Set one;
    if (take_all("\\S")) {
      add_spaces(one);
      return finished(std::move(one), true);
    }
    element(one);
    return finished(std::move(one), false);
  }

  void add_spaces(Set& set) const {
    add(set, '\t', '\r');
    add(set, ' ');
  }

  // Parses a class, which is added to `set`, or a single character, which is returned.
  std::optional<char32_t> element(Set& set) {
    char32_t c = next();
    if (c == '\\') {
      c = next();
      switch (c) {
        case 'p': {
          std::string name;
          if (!take('{')) broken_ = true;
          while (!broken_ && !take('}')) name += static_cast<char>(next());
          add_class(set, name);
          return std::nullopt;
        }
        case 's': add_spaces(set); return std::nullopt;
        case 'd': add(set, '0', '9'); return std::nullopt;
        case 'r': c = '\r'; break;
        case 'n': c = '\n'; break;
        case 't': c = '\t'; break;
        default: break;  // any other character means itself
      }
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) broken_ = true;
    } else if (c == '*' || c == '+' || c == '?' || c == '.') {
      broken_ = broken_ || !in_brackets_;
    }
    if (c >= 0x80 && alphabet_ == RegexAlphabet::classes) broken_ = true;
    add(set, c);
    if (folds_ > 0 && c >= 'a' && c <= 'z') add(set, c - 'a' + 'A');
    return c;
  }

  Set brackets() {
    in_brackets_ = true;
    Set set;
    const bool negated = take('^');
    while (!broken_ && !take(']')) {
      if (take_all("&&[^\\p{Han}]")) {
        remove_han(set);
        continue;
      }
      const std::optional<char32_t> first = element(set);
      if (!first || peek() != '-' || peek(1) == ']') continue;
      ++at_;
      const std::optional<char32_t> last = element(set);
      if (!last || *last < *first) broken_ = true;
      add(set, *first, last.value_or(*first));
    }
    in_brackets_ = false;
    return finished(std::move(set), negated);
  }

  const std::vector<char32_t> text_;
  const std::string_view regex_;
  const RegexAlphabet alphabet_;
  std::size_t at_ = 0;
  u32 folds_ = 0;
  bool in_brackets_ = false;
  bool broken_ = false;
};

}  // namespace

bool RegexNode::matches_empty() const {
  const auto empty = [](const RegexNode& child) { return child.matches_empty(); };
  switch (kind) {
    case Kind::one: return false;
    case Kind::sequence: return std::all_of(children.begin(), children.end(), empty);
    case Kind::alternatives: return std::any_of(children.begin(), children.end(), empty);
    case Kind::repeat: return least == 0 || children.front().matches_empty();
    default: return true;
  }
}

Result<RegexNode> parse_encode_regex(std::string_view regex, RegexAlphabet alphabet) {
  return EncodeRegexParser(regex, alphabet).parse();
}

}  // namespace modelutils::tokenizer
