// Sizes of a model by the symbols that the rows of lib/arch use ("E", "H", …), and the small language of sizes in which
// those rows write shapes and conditions: "H*D", "2*F", "X & i>=Ld".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils::arch {

/// The symbols that all families share. A family may add its own; `i` is the number of the layer at hand.
namespace symbol {
inline constexpr std::string_view layers = "L";             ///< block_count
inline constexpr std::string_view embedding = "E";          ///< width of the residual stream
inline constexpr std::string_view vocabulary = "V";         ///< rows of the embedding
inline constexpr std::string_view feed_forward = "F";       ///< width of the dense feed-forward part
inline constexpr std::string_view heads = "H";              ///< query heads
inline constexpr std::string_view kv_heads = "K";           ///< key and value heads
inline constexpr std::string_view head_dim = "D";           ///< elements of a query or key head
inline constexpr std::string_view rotated = "R";            ///< rotated elements of a head
inline constexpr std::string_view experts = "X";            ///< experts of a layer; 0: dense
inline constexpr std::string_view experts_used = "U";       ///< experts that a token passes
inline constexpr std::string_view expert_ff = "Fx";         ///< width of one expert
inline constexpr std::string_view shared_expert_ff = "Fs";  ///< width of the shared expert
}  // namespace symbol

/// The loader's limits.
inline constexpr u64 max_layers = 512;
inline constexpr u64 max_experts = 512;

/// The largest value of a symbol that any file may state, be it a key of a GGUF or a field of config.json: what is made
/// for each layer or element is never more than this. Of layers and experts the loader's limit; of widths far more than
/// any model has, so that products of two fit into 64 bits.
u64 largest_size(std::string_view symbol);

/// Values of symbols; those of per-layer symbols may differ from layer to layer.
class Sizes {
 public:
  /// Stands for a value that is not known yet among those of set_layers().
  static constexpr u64 unknown = ~u64{0};

  /// One value for all layers. Replaces what was known.
  void set(std::string_view symbol, u64 value);
  /// One value for each layer, in their order.
  void set_layers(std::string_view symbol, std::vector<u64> values);

  /// Makes one value of many that are equal; unknown ones become 0. Symbols without any value stay so.
  void settle(std::string_view symbol);

  /// The value in `layer`; nothing if the symbol is unknown there.
  std::optional<u64> find(std::string_view symbol, u64 layer = 0) const;
  /// The same, 0 if unknown.
  u64 get(std::string_view symbol, u64 layer = 0) const { return find(symbol, layer).value_or(0); }
  /// All values of a symbol: one, or one for each layer; empty if unknown.
  const std::vector<u64>& values(std::string_view symbol) const;

 private:
  struct Entry {
    std::string symbol;
    std::vector<u64> values;
  };
  std::vector<Entry> entries_;  // some twenty: a search from the front is faster than a map
};

/// Value of an expression in `layer`: whole numbers, symbols, `i`; * / % + -, comparisons == != >= <, & and |, ! and
/// parentheses, in the usual order of precedence; comparisons give 0 or 1. Nothing if a symbol is unknown, a difference
/// would be negative, a divisor is 0, or a number exceeds 64 bits.
std::optional<u64> evaluate(std::string_view expression, const Sizes& sizes, u64 layer = 0);

/// Is the condition true in `layer`? Empty is true; unknown symbols count as 0.
bool holds(std::string_view condition, const Sizes& sizes, u64 layer = 0);

/// The symbols of an expression that `sizes` does not know in `layer`, each once.
std::vector<std::string_view> unknown_symbols(std::string_view expression, const Sizes& sizes, u64 layer = 0);

/// The value of the only unknown symbol for which `expression` becomes `value`, if the expression is linear in it and a
/// whole number solves it.
std::optional<u64> solve(std::string_view expression, std::string_view unknown, u64 value, const Sizes& sizes,
                         u64 layer = 0);

/// "E,H*D" in `layer`, ne0 first. Nothing if one of the expressions has no value.
std::optional<std::vector<u64>> evaluate_shape(std::string_view shape, const Sizes& sizes, u64 layer = 0);

/// The expressions of a shape, ne0 first.
std::vector<std::string_view> dimensions_of(std::string_view shape);

}  // namespace modelutils::arch
