// The language of the rows' sizes and conditions: sums, products, comparisons, "&", "|", "!" over symbols, numbers and
// "i" (the layer). The one grammar of it: sizes.cc computes with it, row_text.h lets the compiler read it. Internal.
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

/// Recursive descent over an expression of a row: our own text, so its depth is bounded by what we wrote.
/// `lookup(name)` gives the value of a symbol, nothing if it is unknown.
template <typename Lookup>
class Expression {
 public:
  constexpr Expression(std::string_view text, Lookup lookup) : text_(text), lookup_(lookup) {}

  /// Nothing if the text is no expression, a symbol is unknown, or a number falls below 0, above 64 bits or is divided
  /// by 0.
  constexpr std::optional<u64> value() {
    const u64 result = either();
    malformed_ = malformed_ || at_ != text_.size();
    return malformed_ || undefined_ ? std::nullopt : std::optional(result);
  }
  /// Of the text, after value(), whatever the symbols are.
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
