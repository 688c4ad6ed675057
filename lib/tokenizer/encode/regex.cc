#include "tokenizer/encode/regex.h"

#include <algorithm>
#include <optional>

#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/regex_alphabet.h"

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

}  // namespace modelutils::tokenizer
