// A model's sizes by the symbols that rows of lib/arch use ("E", "H", …), and the language in which rows write shapes
// and conditions: "H*D", "2*F", "X & i>=Ld". Its grammar is implemented once: sizes.cc evaluates it, row_text.h checks
// it at compile time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::arch {

// The language of sizes and conditions in rows: sums, products, comparisons, "&", "|" and "!" over symbols, numbers and
// "i" (the layer). Its grammar is implemented once: sizes.cc evaluates it, row_text.h checks it at compile time.
// Internal.

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

/// The symbols that all families share. A family may add its own; `i` is the current layer.
namespace symbol {
inline constexpr std::string_view layers = "L";             ///< block_count
inline constexpr std::string_view embedding = "E";          ///< width of the residual stream
inline constexpr std::string_view vocabulary = "V";         ///< rows of the embedding
inline constexpr std::string_view feed_forward = "F";       ///< width of the dense feed-forward part
inline constexpr std::string_view heads = "H";              ///< query heads
inline constexpr std::string_view kv_heads = "K";           ///< key and value heads
inline constexpr std::string_view head_dim = "D";           ///< elements of a query or key head
inline constexpr std::string_view rotated = "R";            ///< rotated elements of a head
inline constexpr std::string_view experts = "X";            ///< experts per layer; 0 if dense
inline constexpr std::string_view experts_used = "U";       ///< experts used per token
inline constexpr std::string_view expert_ff = "Fx";         ///< width of one expert
inline constexpr std::string_view shared_expert_ff = "Fs";  ///< width of the shared expert
}  // namespace symbol

/// llama.cpp's limits.
inline constexpr u64 max_layers = 512;
inline constexpr u64 max_experts = 512;

/// Returns the largest value that a file may state for a symbol, in a GGUF key or in config.json, so that per-layer and
/// per-element work is bounded. For layers and experts it is llama.cpp's limit; for widths it is far more than any
/// model has, yet products of two fit 64 bits.
u64 largest_size(std::string_view symbol);

/// Values of symbols, each one for all layers or one per layer.
class Sizes {
 public:
  /// Marks a value in set_layers() that is not known yet.
  static constexpr u64 unknown = ~u64{0};

  /// Sets one value for all layers. Replaces earlier values.
  void set(std::string_view symbol, u64 value);
  /// Sets one value per layer, in order.
  void set_layers(std::string_view symbol, std::vector<u64> values);

  /// Replaces unknown per-layer values by 0, and equal values by a single one. Symbols without values stay unknown.
  void settle(std::string_view symbol);

  /// Returns the value in `layer`, or nullopt if it is unknown.
  std::optional<u64> find(std::string_view symbol, u64 layer = 0) const;
  /// Like find(), but returns 0 if unknown.
  u64 get(std::string_view symbol, u64 layer = 0) const { return find(symbol, layer).value_or(0); }
  /// Returns all values of a symbol: one, one per layer, or none if unknown.
  const std::vector<u64>& values(std::string_view symbol) const;

 private:
  struct Entry {
    std::string symbol;
    std::vector<u64> values;
  };
  std::vector<Entry> entries_;  // about twenty, so a linear search is faster than a map
};

/// Evaluates an expression in `layer`: integers, symbols, `i`; * / % + -, comparisons == != >= <, & and |, ! and
/// parentheses, with the usual precedence. Comparisons give 0 or 1. Returns nullopt if a symbol is unknown, a
/// difference is negative, a divisor is 0, or a number exceeds 64 bits.
std::optional<u64> evaluate(std::string_view expression, const Sizes& sizes, u64 layer = 0);

/// True if the condition holds in `layer`. Empty conditions are true; unknown symbols count as 0.
bool holds(std::string_view condition, const Sizes& sizes, u64 layer = 0);

/// Returns the symbols of an expression that are unknown in `layer`, without repeats.
std::vector<std::string_view> unknown_symbols(std::string_view expression, const Sizes& sizes, u64 layer = 0);

/// Returns the value of the only unknown symbol for which `expression` equals `value`, if the expression is linear in
/// it and the solution is an integer; otherwise nullopt.
std::optional<u64> solve(std::string_view expression, std::string_view unknown, u64 value, const Sizes& sizes,
                         u64 layer = 0);

/// Evaluates a shape such as "E,H*D" in `layer`, ne0 first. Returns nullopt if any dimension has no value.
std::optional<std::vector<u64>> evaluate_shape(std::string_view shape, const Sizes& sizes, u64 layer = 0);

/// Returns the expressions of a shape, ne0 first.
std::vector<std::string_view> dimensions_of(std::string_view shape);

}  // namespace modelutils::arch
