// The language of sizes and conditions in rows: sums, products, comparisons, "&", "|" and "!" over symbols, numbers and
// "i" (the layer). The single implementation of its grammar: sizes.cc evaluates it, row_text.h checks it at compile
// time. Internal.
#pragma once

#include <optional>
#include <string_view>

#include "base/checked_math.h"
#include "base/types.h"

namespace modelutils::arch {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// A recursive-descent evaluator. Expressions come from our own rows, so the depth is bounded. `lookup(name)` returns a
/// symbol's value, or nullopt if it is unknown.
template <typename Lookup>
class Expression {
 public:
  constexpr Expression(std::string_view text, Lookup lookup) : text_(text), lookup_(lookup) {}

  /// Returns nullopt if the text is malformed, a symbol is unknown, a value leaves 0 … 2^64-1, or a divisor is 0.
  constexpr std::optional<u64> value() {
    const u64 result = either();
    malformed_ = malformed_ || at_ != text_.size();
    return malformed_ || undefined_ ? std::nullopt : std::optional(result);
  }
  /// True if the text follows the grammar, whatever its symbols. Call value() first.
  constexpr bool is_well_formed() const { return !malformed_; }

 private:
  constexpr bool take(std::string_view token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  constexpr u64 defined(std::optional<u64> value) {
    undefined_ = undefined_ || !value;
    return value.value_or(0);
  }

  constexpr u64 either() {
    u64 left = both();
    while (take("|")) left = static_cast<u64>(both() != 0) | static_cast<u64>(left != 0);
    return left;
  }
  constexpr u64 both() {
    u64 left = comparison();
    while (take("&")) left = static_cast<u64>(comparison() != 0) & static_cast<u64>(left != 0);
    return left;
  }
  constexpr u64 comparison() {
    const u64 left = sum();
    if (take(">=")) return left >= sum();
    if (take("==")) return left == sum();
    if (take("!=")) return left != sum();
    if (take("<")) return left < sum();
    return left;
  }
  constexpr u64 sum() {
    u64 left = product();
    while (true) {
      if (take("+")) {
        left = defined(checked_add(left, product()));
      } else if (take("-")) {
        const u64 right = product();
        left = defined(right > left ? std::nullopt : std::optional(left - right));
      } else {
        return left;
      }
    }
  }
  constexpr u64 product() {
    u64 left = factor();
    while (true) {
      if (take("*")) {
        left = defined(checked_mul(left, factor()));
      } else if (take("/")) {
        const u64 right = factor();
        left = defined(right == 0 ? std::nullopt : std::optional(left / right));
      } else if (take("%")) {
        const u64 right = factor();
        left = defined(right == 0 ? std::nullopt : std::optional(left % right));
      } else {
        return left;
      }
    }
  }
  constexpr u64 factor() {
    if (take("(")) {
      const u64 inner = either();
      malformed_ = !take(")") || malformed_;
      return inner;
    }
    if (take("!")) return factor() == 0;
    std::size_t end = at_;
    if (end < text_.size() && is_digit(text_[end])) {
      u64 number = 0;
      while (end < text_.size() && is_digit(text_[end])) number = number * 10 + static_cast<u64>(text_[end++] - '0');
      at_ = end;
      return number;
    }
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (name.empty()) {
      malformed_ = true;
      return 0;
    }
    return defined(lookup_(name));
  }

  std::string_view text_;
  Lookup lookup_;
  std::size_t at_ = 0;
  bool malformed_ = false;
  bool undefined_ = false;
};

}  // namespace modelutils::arch
