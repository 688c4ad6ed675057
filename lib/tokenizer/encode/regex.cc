#include "tokenizer/encode/regex.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/encode/characters.h"
#include "tokenizer/regex_syntax.h"

namespace modelutils::tokenizer {

RegexText::RegexText(std::span<const char32_t> points) {
  classes.reserve(points.size());
  characters.reserve(points.size());
  for (const char32_t point : points) {
    if (point < 0x80) {
      classes.push_back(point);
      characters.push_back(point);
    } else if (is_space(point)) {
      classes.push_back(any_other_space);
      characters.push_back(any_other_space);
    } else {
      classes.push_back(class_symbol(character_class(point), is_han(point)));
      characters.push_back(point);
    }
  }
}

bool EncodeRegex::Set::contains(char32_t symbol) const {
  if (symbol < low.size()) return low[symbol];
  const auto above = std::upper_bound(ranges.begin(), ranges.end(), symbol,
                                      [](char32_t value, const auto& range) { return value < range.first; });
  const bool is_listed = above != ranges.begin() && symbol <= std::prev(above)->second;
  return is_listed != negated;
}

// Backtracking that never repeats failed work: remembers each position at which a loop led to no match, also for later
// searches. Successful attempts need not be remembered, because the next search begins after the match, and no match is
// empty.
class EncodeRegex::Search {
 public:
  Search(const EncodeRegex& regex, std::span<const char32_t> text, std::size_t pieces)
      : regex_(regex), text_(text), failed_((text.size() + pieces + 1) * regex.loops_) {}

  // Returns the end of the match that begins at `begin` in the piece number `piece`, which ends at `end`; nullopt if
  // there is none.
  std::optional<std::size_t> match(std::size_t begin, std::size_t end, std::size_t piece) {
    stack_.assign(1, {regex_.first_, begin});
    while (!stack_.empty()) {
      auto [number, at] = stack_.back();
      stack_.pop_back();
      if (const auto matched = run(number, at, end, piece)) return matched;
    }
    return std::nullopt;
  }

 private:
  struct Choice {
    u32 step;
    std::size_t at;
  };

  // Runs until it fails or matches; pushes alternatives on the stack.
  std::optional<std::size_t> run(u32 number, std::size_t at, std::size_t end, std::size_t piece) {
    while (true) {
      const Step& step = regex_.steps_[number];
      switch (step.op) {
        case Op::match: return at;
        case Op::one:
          if (at == end || !regex_.sets_[step.set].contains(text_[at])) return std::nullopt;
          ++at;
          break;
        case Op::look:
          if (at == end || !regex_.sets_[step.set].contains(text_[at])) return std::nullopt;
          break;
        case Op::look_not:
          if (at != end && regex_.sets_[step.set].contains(text_[at])) return std::nullopt;
          break;
        case Op::end:
          if (at != end) return std::nullopt;
          break;
        case Op::split:
          if (step.loop >= 0 && was_tried(step.loop, at + piece)) return std::nullopt;
          stack_.push_back({step.otherwise, at});
          break;
      }
      number = step.next;
    }
  }

  bool was_tried(i32 loop, std::size_t at) {
    const std::size_t bit = at * regex_.loops_ + static_cast<std::size_t>(loop);
    const bool was = failed_[bit];
    failed_[bit] = true;
    return was;
  }

  const EncodeRegex& regex_;
  const std::span<const char32_t> text_;
  std::vector<bool> failed_;
  std::vector<Choice> stack_;
};

std::vector<u32> EncodeRegex::cut(const RegexText& text, std::span<const u32> pieces) const {
  const std::vector<char32_t>& symbols = text.in(alphabet_);
  Search search(*this, symbols, pieces.size());
  std::vector<u32> cuts;
  cuts.reserve(pieces.size());
  std::size_t begin = 0;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const std::size_t end = begin + pieces[piece];
    std::size_t done = begin;
    for (std::size_t at = begin; at < end;) {
      const auto matched = search.match(at, end, piece);
      if (!matched) {
        ++at;
        continue;
      }
      if (at > done) cuts.push_back(static_cast<u32>(at - done));
      cuts.push_back(static_cast<u32>(*matched - at));
      done = at = *matched;
    }
    if (done < end) cuts.push_back(static_cast<u32>(end - done));
    begin = end;
  }
  return cuts;
}

namespace {

using Kind = RegexNode::Kind;

constexpr u32 most_copies = 1000;  // of a repeated part

bool matches_empty(const RegexNode& node) {
  switch (node.kind) {
    case Kind::one: return false;
    case Kind::sequence: return std::all_of(node.children.begin(), node.children.end(), matches_empty);
    case Kind::alternatives: return std::any_of(node.children.begin(), node.children.end(), matches_empty);
    case Kind::repeat: return node.least == 0 || matches_empty(node.children.front());
    default: return true;
  }
}

}  // namespace

// Creates the steps from the end of the regex to its start, so that each step's successor already exists.
class EncodeRegexCompiler {
 public:
  explicit EncodeRegexCompiler(RegexAlphabet alphabet) { out_.alphabet_ = alphabet; }

  /// Returns nullopt if the regex has an unsupported construct.
  std::optional<EncodeRegex> compile(const RegexNode& node) {
    const u32 match = add({.op = Op::match});
    out_.first_ = emit(node, match);
    if (!supported_) return std::nullopt;
    return std::move(out_);
  }

 private:
  using Op = EncodeRegex::Op;
  using Set = EncodeRegex::Set;

  u32 add(EncodeRegex::Step step) {
    out_.steps_.push_back(step);
    return static_cast<u32>(out_.steps_.size() - 1);
  }

  u32 add_set(Op op, const RegexSet& set, u32 next) {
    out_.sets_.push_back(symbols_of(set));
    return add({.op = op, .set = static_cast<u32>(out_.sets_.size() - 1), .next = next});
  }

  // Returns the first step of `node`, which continues with step `next`.
  u32 emit(const RegexNode& node, u32 next) {
    switch (node.kind) {
      case Kind::one: return add_set(Op::one, node.set, next);
      case Kind::look: return emit_look(node, next);
      case Kind::sign: supported_ = supported_ && node.sign == "$"; return add({.op = Op::end, .next = next});
      case Kind::sequence:
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) next = emit(*child, next);
        return next;
      case Kind::alternatives: {
        u32 first = emit(node.children.back(), next);
        for (auto child = node.children.rbegin() + 1; child != node.children.rend(); ++child) {
          const u32 begin = emit(*child, next);
          first = add({.op = Op::split, .next = begin, .otherwise = first});
        }
        return first;
      }
      case Kind::repeat: break;
    }
    return emit_repeat(node, next);
  }

  // Only (?=x) and (?!x) of one character.
  u32 emit_look(const RegexNode& node, u32 next) {
    const RegexNode* inside = &node.children.front();
    while ((inside->kind == Kind::alternatives || inside->kind == Kind::sequence) && inside->children.size() == 1) {
      inside = &inside->children.front();
    }
    supported_ = supported_ && inside->kind == Kind::one && (node.sign == "?=" || node.sign == "?!");
    return add_set(node.sign == "?=" ? Op::look : Op::look_not, inside->set, next);
  }

  u32 emit_repeat(const RegexNode& node, u32 next) {
    const RegexNode& body = node.children.front();
    const bool is_unlimited = node.most == RegexNode::no_limit;
    if (!node.sign.empty() || matches_empty(body) || node.most == 0 || (is_unlimited && node.least > 1) ||
        (!is_unlimited && node.most > most_copies)) {
      supported_ = false;
      return next;
    }
    if (is_unlimited) {
      const u32 split = add({.op = Op::split, .otherwise = next, .loop = static_cast<i32>(out_.loops_++)});
      const u32 begin = emit(body, split);
      out_.steps_[split].next = begin;
      return node.least == 0 ? split : begin;
    }
    const u32 behind = next;
    for (u32 i = node.least; i < node.most; ++i) {
      const u32 begin = emit(body, next);
      next = add({.op = Op::split, .next = begin, .otherwise = behind});
    }
    for (u32 i = 0; i < node.least; ++i) next = emit(body, next);
    return next;
  }

  // Returns the symbols that represent the characters of `set`.
  Set symbols_of(const RegexSet& set) {
    Set out;
    out.negated = set.negated;
    for (const auto& [first, last] : set.ranges) {
      if (last >= 0x80 && out_.alphabet_ == RegexAlphabet::classes) supported_ = false;
      out.ranges.emplace_back(first, last);
    }
    for (const std::string& property : set.properties) {
      if (property == "\\S") {  // supported only without other members
        supported_ = supported_ && set.properties.size() == 1 && set.ranges.empty();
        out.negated = !out.negated;
      }
      add_property(out, property);
    }
    if (!set.nested.empty()) supported_ = false;
    for (const RegexSet& other : set.common) {
      const bool is_not_han = other.negated && other.ranges.empty() && other.nested.empty() && other.common.empty() &&
                              other.properties == std::vector<std::string>{"\\p{Han}"};
      if (!is_not_han) supported_ = false;
      std::erase_if(out.ranges, [](const auto& range) { return range.first >= han_letter_symbol; });
    }
    finish(out);
    return out;
  }

  // Lu, Ll … count as letters.
  void add_property(Set& set, std::string_view property) {
    const auto add = [&](char32_t first, char32_t last) { set.ranges.emplace_back(first, last); };
    if (property == "\\s" || property == "\\S") {
      add('\t', '\r');
      add(' ', ' ');
      return;
    }
    if (property == "\\d") return add('0', '9');
    if (property == "\\p{Han}") return add(han_letter_symbol, han_other_symbol);
    const char category = property.starts_with("\\p{") ? property[3] : ' ';
    CharacterClass wanted;
    switch (category) {
      case 'L': wanted = CharacterClass::letter; break;
      case 'M': wanted = CharacterClass::mark; break;
      case 'N': wanted = CharacterClass::number; break;
      case 'P': wanted = CharacterClass::punctuation; break;
      case 'S': wanted = CharacterClass::symbol; break;
      default: supported_ = false; return;
    }
    for (char32_t c = 0; c < 0x80; ++c) {
      if (character_class(c) == wanted) add(c, c);
    }
    for (const bool is_han : {false, true}) {
      const char32_t symbol = class_symbol(wanted, is_han);
      if (!is_han || wanted == CharacterClass::letter) add(symbol, symbol);
    }
  }

  // Sorts and joins the ranges, because contains() uses a binary search, and fills the table.
  static void finish(Set& set) {
    std::sort(set.ranges.begin(), set.ranges.end());
    std::vector<std::pair<char32_t, char32_t>> joined;
    for (const auto& range : set.ranges) {
      if (!joined.empty() && range.first <= joined.back().second) {
        joined.back().second = std::max(joined.back().second, range.second);
      } else {
        joined.push_back(range);
      }
    }
    set.ranges = std::move(joined);
    set.low.assign(set.low.size(), set.negated);
    for (const auto& [first, last] : set.ranges) {
      for (char32_t c = first; c <= last && c < set.low.size(); ++c) set.low[c] = !set.negated;
    }
  }

  EncodeRegex out_;
  bool supported_ = true;
};

Result<EncodeRegex> EncodeRegex::compile(std::string_view regex) {
  const auto alphabet =
      regex.find("\\p{") == std::string_view::npos ? RegexAlphabet::characters : RegexAlphabet::classes;
  const std::optional<RegexNode> node = parse_regex(regex);
  if (!node) return internal_error(fmt::format("the regex '{}' is not supported", regex));
  if (matches_empty(*node)) return internal_error(fmt::format("the regex '{}' matches the empty text", regex));
  std::optional<EncodeRegex> compiled = EncodeRegexCompiler(alphabet).compile(*node);
  if (!compiled) return internal_error(fmt::format("the regex '{}' has a construct that is not supported", regex));
  return std::move(*compiled);
}

}  // namespace modelutils::tokenizer
