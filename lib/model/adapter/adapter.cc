#include "model/adapter/adapter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace modelutils::adapter {

namespace module_patterns {

enum class Anchor : u8 { start, end, word_edge, no_word_edge };

using Chars = std::bitset<128>;

struct State {
  enum class Kind : u8 { chars, anchor, fork, accept } kind = Kind::accept;
  Anchor anchor = Anchor::start;
  u32 set = 0;  // index into Automaton::sets
  u32 next = 0;
  u32 other = 0;  // second successor of a fork
};

}  // namespace module_patterns

namespace {

using module_patterns::Anchor;
using module_patterns::Chars;
using module_patterns::State;

constexpr std::size_t max_length = 4096;
constexpr std::size_t max_states = 16384;
constexpr u32 max_depth = 64;
constexpr u32 unlimited = ~u32{0};

struct Node {
  enum class Kind : u8 { chars, anchor, sequence, either, repeat } kind = Kind::sequence;
  Chars chars = {};
  Anchor anchor = Anchor::start;
  u32 least = 0;
  u32 most = 0;
  std::vector<Node> parts = {};
};

Chars range(unsigned first, unsigned last) {
  Chars chars;
  for (unsigned c = first; c <= last; ++c) chars.set(c);
  return chars;
}

// The ASCII classes \d, \s and \w, and their complements.
std::optional<Chars> category(char letter) {
  switch (letter) {
    case 'd': return range('0', '9');
    case 's': return range('\t', '\r') | range(0x1c, 0x1f) | range(' ', ' ');
    case 'w': return range('0', '9') | range('a', 'z') | range('A', 'Z') | range('_', '_');
    case 'D':
    case 'S':
    case 'W': return ~*category(static_cast<char>(letter - 'A' + 'a'));
    default: return std::nullopt;
  }
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Node> parse() {
    if (text_.size() > max_length) return std::nullopt;
    std::optional<Node> node = alternatives(0);
    return at_ == text_.size() ? std::move(node) : std::nullopt;
  }

 private:
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (!text_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  std::optional<Node> alternatives(u32 depth) {
    Node either{.kind = Node::Kind::either};
    do {
      std::optional<Node> part = sequence(depth);
      if (!part) return std::nullopt;
      either.parts.push_back(std::move(*part));
    } while (take('|'));
    return either;
  }

  std::optional<Node> sequence(u32 depth) {
    Node all{.kind = Node::Kind::sequence};
    while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
      std::optional<Node> item = repeated(depth);
      if (!item) return std::nullopt;
      all.parts.push_back(std::move(*item));
    }
    return all;
  }

  std::optional<Node> repeated(u32 depth) {
    std::optional<Node> item = single(depth);
    if (!item) return std::nullopt;
    const auto times = repetition();
    if (!times) return item;
    const auto [least, most] = *times;
    const bool is_lazy = take('?');  // affects which match is found, not whether there is one
    const bool is_possessive = !is_lazy && take('+');
    if (item->kind == Node::Kind::anchor || least > most || is_possessive || repetition()) return std::nullopt;
    Node repeat{.kind = Node::Kind::repeat, .least = least, .most = most};
    repeat.parts.push_back(std::move(*item));
    return repeat;
  }

  // Parses '*', '+', '?' or '{m,n}'. Any other brace is an ordinary character.
  std::optional<std::pair<u32, u32>> repetition() {
    if (take('*')) return std::pair{0U, unlimited};
    if (take('+')) return std::pair{1U, unlimited};
    if (take('?')) return std::pair{0U, 1U};
    const std::size_t begin = at_;
    if (!take('{') || take('}')) {
      at_ = begin;
      return std::nullopt;
    }
    const auto least = number();
    const auto most = take(',') ? number() : least;
    if (take('}')) return std::pair{least.value_or(0), most.value_or(unlimited)};
    at_ = begin;
    return std::nullopt;
  }

  // Saturates, because names are shorter anyway.
  std::optional<u32> number() {
    std::optional<u32> value;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = std::min<u32>(value.value_or(0) * 10 + static_cast<u32>(text_[at_] - '0'), 1'000'000);
    }
    return value;
  }

  static Node of_chars(Chars chars) { return {.kind = Node::Kind::chars, .chars = chars}; }
  static Node of_anchor(Anchor anchor) { return {.kind = Node::Kind::anchor, .anchor = anchor}; }
  static std::optional<Node> of_char(char c) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 128) return std::nullopt;
    return of_chars(range(code, code));
  }

  std::optional<Node> single(u32 depth) {
    const char c = text_[at_++];
    switch (c) {
      case '.': return of_chars(~range('\n', '\n'));
      case '^': return of_anchor(Anchor::start);
      case '$': return of_anchor(Anchor::end);
      case '(': return group(depth);
      case '[': return char_class();
      case '\\': return escape();
      case '*':
      case '+':
      case '?': return std::nullopt;
      case '{': --at_; return repetition() ? std::nullopt : (++at_, of_char('{'));
      default: return of_char(c);
    }
  }

  std::optional<Node> group(u32 depth) {
    if (depth == max_depth) return std::nullopt;
    if (take("?P<")) {
      const std::size_t begin = at_;
      while (at_ < text_.size() && (is_letter_or_digit(text_[at_]) || text_[at_] == '_')) ++at_;
      const bool has_name = at_ > begin && !(text_[begin] >= '0' && text_[begin] <= '9');
      const std::string_view name = text_.substr(begin, at_ - begin);
      if (!has_name || !take('>') || std::ranges::find(names_, name) != names_.end()) return std::nullopt;
      names_.push_back(name);
    } else if (!take("?:") && at_ < text_.size() && text_[at_] == '?') {
      return std::nullopt;
    }
    std::optional<Node> inner = alternatives(depth + 1);
    return take(')') ? std::move(inner) : std::nullopt;
  }

  // Parses the character after a backslash. Returns nullopt if it is not a single character.
  std::optional<char> escaped_char() {
    if (at_ == text_.size()) return std::nullopt;
    const char c = text_[at_++];
    constexpr std::string_view letters = "ntrfva", values = "\n\t\r\f\v\a";
    if (const std::size_t known = letters.find(c); known != letters.npos) return values[known];
    if (c != 'x') return is_letter_or_digit(c) ? std::nullopt : std::optional(c);
    unsigned value = 0;
    for (int i = 0; i < 2; ++i, ++at_) {
      const std::size_t digit = at_ < text_.size() ? hex_digits.find(text_[at_]) : hex_digits.npos;
      if (digit == hex_digits.npos) return std::nullopt;
      value = value * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
    }
    return value < 128 ? std::optional(static_cast<char>(value)) : std::nullopt;
  }

  std::optional<Node> escape() {
    if (at_ == text_.size()) return std::nullopt;
    if (const auto chars = category(text_[at_])) {
      ++at_;
      return of_chars(*chars);
    }
    if (take('A')) return of_anchor(Anchor::start);
    if (take('Z')) return of_anchor(Anchor::end);
    if (take('b')) return of_anchor(Anchor::word_edge);
    if (take('B')) return of_anchor(Anchor::no_word_edge);
    const auto c = escaped_char();
    return c ? of_char(*c) : std::nullopt;
  }

  struct Member {
    Chars chars;
    std::optional<char> single;  // nullopt for a class such as \d
  };
  std::optional<Member> class_member() {
    if (at_ == text_.size()) return std::nullopt;
    char c = text_[at_++];
    if (c == '\\') {
      const auto chars = at_ < text_.size() ? category(text_[at_]) : std::nullopt;
      if (chars) {
        ++at_;
        return Member{*chars, {}};
      }
      const auto escaped = take('b') ? '\b' : escaped_char();
      if (!escaped) return std::nullopt;
      c = *escaped;
    }
    const auto one = of_char(c);
    return one ? std::optional(Member{one->chars, c}) : std::nullopt;
  }

  std::optional<Node> char_class() {
    const bool is_negated = take('^');
    Chars chars;
    for (bool is_first = true; is_first || !take(']'); is_first = false) {
      const auto low = class_member();
      if (!low) return std::nullopt;
      chars |= low->chars;
      const std::string_view rest = text_.substr(at_);
      if (!rest.starts_with('-') || rest.starts_with("-]")) continue;
      ++at_;
      const auto high = class_member();
      if (!high || !low->single || !high->single || *low->single > *high->single) return std::nullopt;
      chars |= range(static_cast<unsigned>(*low->single), static_cast<unsigned>(*high->single));
    }
    return of_chars(is_negated ? ~chars : chars);
  }

  static constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string_view> names_;
};

}  // namespace

/// Thompson's automaton for the reversed key: most keys then fail on most names at the first character.
struct ModulePattern::Automaton {
  std::vector<module_patterns::State> states = {{}};
  std::vector<module_patterns::Chars> sets;
  u32 first = 0;
};

namespace {

class Compiler {
 public:
  std::shared_ptr<const ModulePattern::Automaton> compile(const Node& root) {
    automaton_->first = add(root, 0);
    return is_too_large_ ? nullptr : automaton_;
  }

 private:
  u32 put(const State& state) {
    if (automaton_->states.size() >= max_states) {
      is_too_large_ = true;
      return 0;
    }
    automaton_->states.push_back(state);
    return static_cast<u32>(automaton_->states.size() - 1);
  }

  // Adds `node` in front of state `next` and returns its first state.
  u32 add(const Node& node, u32 next) {
    if (is_too_large_) return 0;
    switch (node.kind) {
      case Node::Kind::chars: {
        automaton_->sets.push_back(node.chars);
        return put({State::Kind::chars, {}, static_cast<u32>(automaton_->sets.size() - 1), next});
      }
      case Node::Kind::anchor: return put({State::Kind::anchor, node.anchor, 0, next});
      case Node::Kind::sequence: {
        for (const Node& part : node.parts) next = add(part, next);  // in reverse, because names are read backwards
        return next;
      }
      case Node::Kind::either: {
        u32 first = add(node.parts.front(), next);
        for (std::size_t i = 1; i < node.parts.size(); ++i) {
          first = put({State::Kind::fork, {}, 0, first, add(node.parts[i], next)});
        }
        return first;
      }
      case Node::Kind::repeat: return add_repeat(node, next);
    }
    return next;
  }

  u32 add_repeat(const Node& node, u32 next) {
    const Node& part = node.parts.front();
    if (node.most == unlimited) {
      const u32 fork = put({State::Kind::fork, {}, 0, next, 0});
      const u32 loop = add(part, fork);
      if (!is_too_large_) automaton_->states[fork].other = loop;
      next = fork;
    } else {
      const u32 end = next;
      for (u32 i = node.least; i < node.most && !is_too_large_; ++i) {
        next = put({State::Kind::fork, {}, 0, end, add(part, next)});
      }
    }
    for (u32 i = 0; i < node.least && !is_too_large_; ++i) {
      const u32 before = next;
      next = add(part, next);
      if (next == before) break;  // it matches only the empty text, so repeating it has no effect
    }
    return next;
  }

  std::shared_ptr<ModulePattern::Automaton> automaton_ = std::make_shared<ModulePattern::Automaton>();
  bool is_too_large_ = false;
};

// A set of states that wait for a character.
class Waiting {
 public:
  Waiting(const ModulePattern::Automaton& automaton, std::string_view name)
      : automaton_(&automaton), name_(name), seen_(automaton.states.size()) {}

  void clear() {
    states_.clear();
    is_accepted_ = false;
    ++round_;
  }

  // Adds `state` and all states reachable from it without reading a character; name[0, at) is still unread.
  u64 add(u32 state, std::size_t at) {
    u64 steps = 0;
    open_.push_back(state);
    while (!open_.empty()) {
      const u32 number = open_.back();
      open_.pop_back();
      ++steps;
      if (std::exchange(seen_[number], round_) == round_) continue;
      const State& found = automaton_->states[number];
      if (found.kind == State::Kind::accept) is_accepted_ = true;
      if (found.kind == State::Kind::chars) states_.push_back(number);
      if (found.kind == State::Kind::fork) open_.push_back(found.other);
      const bool goes_on =
          found.kind == State::Kind::fork || (found.kind == State::Kind::anchor && holds(found.anchor, at));
      if (goes_on) open_.push_back(found.next);
    }
    return steps;
  }

  const std::vector<u32>& states() const { return states_; }
  bool is_accepted() const { return is_accepted_; }

 private:
  bool is_word(std::size_t at) const {
    return at < name_.size() && (is_letter_or_digit(name_[at]) || name_[at] == '_');
  }

  bool holds(Anchor anchor, std::size_t at) const {
    if (anchor == Anchor::start) return at == 0;
    if (anchor == Anchor::end) return at == name_.size();
    if (name_.empty()) return false;  // as in Python before 3.14
    const bool is_edge = (at > 0 && is_word(at - 1)) != is_word(at);
    return is_edge == (anchor == Anchor::word_edge);
  }

  const ModulePattern::Automaton* automaton_;
  std::string_view name_;
  std::vector<u32> seen_;
  u32 round_ = 1;
  std::vector<u32> states_, open_;
  bool is_accepted_ = false;
};

}  // namespace

std::optional<ModulePattern> ModulePattern::parse(std::string_view key) {
  const std::optional<Node> node = Parser(key).parse();
  if (!node) return std::nullopt;
  ModulePattern pattern;
  pattern.automaton_ = Compiler().compile(*node);
  if (pattern.automaton_ == nullptr) return std::nullopt;
  return pattern;
}

bool ModulePattern::names(std::string_view module, u64& budget) const {
  Waiting now(*automaton_, module), next(*automaton_, module);
  u64 steps = automaton_->states.size() / 16 + now.add(automaton_->first, module.size());
  for (std::size_t at = module.size();; --at) {
    // The key has matched module[at, end). It must be preceded by a dot or by nothing.
    if (now.is_accepted() && (at == 0 || module[at - 1] == '.')) break;
    if (at == 0 || now.states().empty() || steps >= budget) {
      budget -= std::min(steps, budget);
      return false;
    }
    next.clear();
    for (const u32 number : now.states()) {
      const State& state = automaton_->states[number];
      ++steps;
      const auto c = static_cast<unsigned char>(module[at - 1]);
      if (c < 128 && automaton_->sets[state.set].test(c)) steps += next.add(state.next, at - 1);
    }
    std::swap(now, next);
  }
  budget -= std::min(steps, budget);
  return budget > 0;
}

Result<double> PeftScaling::value(std::string_view field, const Patterns& patterns, std::string_view module,
                                  double otherwise) const {
  if (patterns.empty()) return otherwise;
  // Python's character classes are Unicode; ours are ASCII. Module names are Python identifiers, nearly always ASCII.
  if (!std::ranges::all_of(module, [](char c) { return c >= ' ' && c < 127; })) {
    return input_error("adapter-config", fmt::format("cannot be applied to '{}', which is not printable ASCII", module),
                       at_key(field));
  }
  for (const auto& [pattern, found] : patterns) {
    if (pattern.names(module, steps_)) return found;
    if (steps_ == 0) {
      return input_error("adapter-config", "has too many or too long keys to match against all modules", at_key(field));
    }
  }
  return otherwise;
}

Result<PeftScaling::Values> PeftScaling::of(std::string_view module) const {
  Values values;
  MU_ASSIGN(values.rank, value("rank_pattern", ranks_, module, rank_));
  MU_ASSIGN(const double alpha, value("alpha_pattern", alphas_, module, alpha_));
  values.scale = is_rslora_ ? alpha / std::sqrt(values.rank) : alpha / values.rank;
  return values;
}

}  // namespace modelutils::adapter
