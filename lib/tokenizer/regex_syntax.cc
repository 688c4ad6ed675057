#include "tokenizer/regex_syntax.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace modelutils::tokenizer {

namespace {

constexpr std::size_t max_regex = 16 * 1024;
constexpr int max_depth = 32;

// Returns the name in braces after \p or \P, without prefixes and in its short form.
std::string property_name(std::string_view name) {
  for (const std::string_view prefix : {"Script=", "sc=", "Is"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  for (const std::string_view category : {"Letter", "Mark", "Number", "Punctuation", "Symbol"}) {
    if (name == category) name = name.substr(0, 1);
  }
  return std::string(name);
}

class RegexParser {
 public:
  explicit RegexParser(std::string_view regex) : rest_(regex) {}

  std::optional<RegexNode> parse() {
    RegexNode whole = alternatives(0, false);
    if (broken_ || !rest_.empty()) return std::nullopt;
    return whole;
  }

 private:
  using Kind = RegexNode::Kind;

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  // Ends the parsing: every loop stops because no text remains.
  void fail() {
    broken_ = true;
    rest_ = {};
  }

  char32_t take_character() {
    const CodePoint point = rest_.empty() ? CodePoint{} : decode_utf8(rest_);
    if (point.valid) {
      rest_.remove_prefix(point.size);
    } else {
      fail();
    }
    return point.value;
  }

  RegexNode alternatives(int depth, bool folds) {
    RegexNode all{.kind = Kind::alternatives};
    if (depth > max_depth) fail();
    do all.children.push_back(sequence(depth, folds));
    while (take("|"));
    return all;
  }

  RegexNode sequence(int depth, bool folds) {
    RegexNode all;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      if (take("(?i)")) {
        folds = true;
      } else {
        all.children.push_back(repeated(atom(depth, folds)));
      }
    }
    return all;
  }

  RegexNode repeated(RegexNode of) {
    RegexNode node{.kind = Kind::repeat, .most = RegexNode::no_limit};
    if (take("?")) {
      node.most = 1;
    } else if (take("+")) {
      node.least = 1;
    } else if (!take("*") && !take_counts(node)) {
      return of;
    }
    const bool is_unlimited = node.most == RegexNode::no_limit;
    const bool has_symbol = (node.least == 0 && node.most == 1) || (node.least <= 1 && is_unlimited);
    const bool again = take("+");
    if (!has_symbol && again) {
      if (node.least == 1) {
        node.most = RegexNode::no_limit;
      } else {
        node.sign = "+";
      }
    }
    if (has_symbol && !again && take("?")) node.sign = "?";
    if (node.least == 1 && node.most == 1) return of;
    node.children.push_back(std::move(of));
    return node;
  }

  // Parses {n}, {n,} or {n,m}. Anything else is not a quantifier.
  bool take_counts(RegexNode& node) {
    const std::size_t end = rest_.find('}');
    if (!rest_.starts_with('{') || end == std::string_view::npos) return false;
    const std::string_view body = rest_.substr(1, end - 1);
    const std::size_t comma = std::min(body.find(','), body.size());
    const auto least = number(body.substr(0, comma));
    const auto most = comma == body.size()       ? least
                      : comma + 1 == body.size() ? RegexNode::no_limit
                                                 : number(body.substr(comma + 1));
    if (!least || !most) return false;
    rest_.remove_prefix(end + 1);
    node.least = *least;
    node.most = *most;
    if (*most < *least) fail();
    return true;
  }

  static std::optional<u32> number(std::string_view digits) {
    u32 value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  }

  RegexNode atom(int depth, bool folds) {
    if (take("(")) return group(depth, folds);
    if (take("[")) return {.kind = Kind::one, .set = brackets(depth, folds)};
    for (const char* sign : {".", "^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z"}) {
      if (take(sign)) return {.kind = Kind::sign, .sign = sign};
    }
    RegexNode node{.kind = Kind::one};
    if (std::string_view("?*+").find(rest_.front()) != std::string_view::npos) fail();
    if (const auto value = element(node.set)) add(node.set, *value, *value, folds);
    return node;
  }

  RegexNode group(int depth, bool folds) {
    RegexNode look{.kind = Kind::look};
    for (const char* sign : {"?=", "?!", "?<=", "?<!", "?>"}) {
      if (look.sign.empty() && take(sign)) look.sign = sign;
    }
    if (look.sign.empty()) {
      if (take("?i:")) {
        folds = true;
      } else if (!take("?:") && rest_.starts_with('?')) {
        fail();
      }
    }
    RegexNode inside = alternatives(depth + 1, folds);
    if (!take(")")) fail();
    if (look.sign.empty()) return inside;
    look.children.push_back(std::move(inside));
    return look;
  }

  // Parses the rest of a class, whose bracket has been taken.
  RegexSet brackets(int depth, bool folds) {
    RegexSet set;
    if (depth > max_depth) fail();
    set.negated = take("^");
    if (rest_.starts_with(']')) fail();  // engines interpret this differently
    while (!take("]")) {
      if (rest_.empty()) {
        fail();
        break;
      }
      if (take("&&")) {
        // The right side extends to the end of the class.
        const bool is_nested = take("[");
        set.common.push_back(brackets(depth + 1, folds));
        if (is_nested && !take("]")) fail();
        break;
      }
      if (take("[")) {
        set.nested.push_back(brackets(depth + 1, folds));
        continue;
      }
      const auto first = element(set);
      if (!first) continue;
      auto last = first;
      if (rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
        rest_.remove_prefix(1);
        last = element(set);
        if (!last || *last < *first) fail();
      }
      add(set, *first, last.value_or(*first), folds);
    }
    return set;
  }

  static void add(RegexSet& set, char32_t first, char32_t last, bool folds) {
    set.ranges.emplace_back(first, last);
    if (!folds) return;
    for (const auto& [low, high] : {std::pair(U'A', U'Z'), std::pair(U'a', U'z')}) {
      const char32_t from = std::max(first, low), to = std::min(last, high);
      if (from <= to) set.ranges.emplace_back(from ^ 0x20, to ^ 0x20);
    }
  }

  // Parses a single character, which is returned, or a property, which is added to `set`.
  std::optional<char32_t> element(RegexSet& set) {
    const bool is_escape = take("\\");
    const char32_t value = take_character();
    if (!is_escape || broken_) return value;
    switch (value) {
      case 'n': return U'\n';
      case 'r': return U'\r';
      case 't': return U'\t';
      case 'f': return U'\f';
      case 'v': return U'\v';
      case 'd':
      case 'D':
      case 's':
      case 'S':
      case 'w':
      case 'W': set.properties.push_back({'\\', static_cast<char>(value)}); return std::nullopt;
      case 'p':
      case 'P': set.properties.push_back(property(value == 'P')); return std::nullopt;
      case 'x': return code_point(2);
      case 'u': return code_point(4);
      default: break;
    }
    const bool is_known =
        !(value >= 'a' && value <= 'z') && !(value >= 'A' && value <= 'Z') && !(value >= '0' && value <= '9');
    if (!is_known) fail();
    return value;
  }

  std::string property(bool negated) {
    const std::size_t end = rest_.find('}');
    if (!take("{") || end == std::string_view::npos) {
      fail();
      return {};
    }
    std::string_view name = rest_.substr(0, end - 1);
    rest_.remove_prefix(end);
    if (name.starts_with('^')) {
      name.remove_prefix(1);
      negated = !negated;
    }
    return (negated ? "\\P{" : "\\p{") + property_name(name) + "}";
  }

  // Parses the digits of \xHH, \x{…} or \uHHHH.
  char32_t code_point(std::size_t digits) {
    const bool braces = take("{");
    if (braces) digits = rest_.find('}');
    const std::string_view text = rest_.substr(0, digits);
    u32 value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    const bool is_number = text.size() == digits && end == text.data() + text.size() && error == std::errc();
    if (!is_number || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
      fail();
    } else {
      rest_.remove_prefix(digits + (braces ? 1 : 0));
    }
    return value;
  }

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace

std::optional<RegexNode> parse_regex(std::string_view regex) {
  if (regex.size() > max_regex) return std::nullopt;
  return RegexParser(regex).parse();
}

}  // namespace modelutils::tokenizer
