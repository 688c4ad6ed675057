// Helpers shared by the text methods and text filters.
#pragma once

#include <string_view>
#include <vector>

#include "template/interpreter.h"
#include "template/python_text.h"

namespace modelutils::jinja {

/// Charges for searching `wanted` in `text`: std::string_view::find() may compare it at every position.
Outcome<void> charge_search(Machine& machine, std::string_view text, std::string_view wanted);

/// Returns the text. Fails for text marked as safe, where Python would escape the arguments.
Outcome<std::string_view> plain_text(Machine& machine, const Value& value);
/// Returns a text argument. Fails with a TypeError naming `what` for other values.
Outcome<std::string_view> text_argument(Machine& machine, const Value& value, std::string_view what);
/// Makes a list of the texts.
Outcome<Value> texts(Machine& machine, const std::vector<std::string_view>& parts);

/// strip(), lstrip() and rstrip() with their optional argument.
Outcome<Value> strip_value(Machine& machine, const Value& text, const Call& call, Side side);

/// split() and rsplit(), at whitespace or at a separator, with at most `most` splits (−1: no limit).
std::vector<std::string_view> split_blanks(std::string_view text, i64 most);
std::vector<std::string_view> split_blanks_from_right(std::string_view text, i64 most);
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, i64 most);
std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator, i64 most);
/// Counts non-overlapping occurrences of `wanted`, which must not be empty.
std::size_t occurrences(std::string_view text, std::string_view wanted);
/// splitlines(): splits at all of Unicode's line ends.
Outcome<std::vector<std::string_view>> lines_of(Machine& machine, std::string_view text, bool keep_ends);

/// replace(): replaces the first `most` occurrences of `before` (−1: all).
Outcome<Value> replaced(Machine& machine, std::string_view text, std::string_view before, std::string_view after,
                        i64 most);

// The `attribute` argument of filters: a dotted name such as "function.name", or an index.

/// The path from an item to the value that a filter uses: the item itself (empty path), or a nested attribute or item.
class AttributePath {
 public:
  AttributePath() = default;
  /// Parses `attribute`: missing or none selects the item itself; text is split at dots (numeric parts are indices);
  /// any other value is a single index. Fails for indices beyond 64 bits.
  static Outcome<AttributePath> of(Machine& machine, const Value& attribute);

  /// Follows the path from `item`. At each step an undefined result is replaced by `otherwise`, unless that is missing
  /// or none.
  Outcome<Value> get(Interpreter& interpreter, Value item, const Value& otherwise = {}) const;

 private:
  std::vector<Value> steps_;
};

/// Returns each item's key for sorting, grouping or comparing: the value at `path`, with text in lower case unless
/// `is_case_sensitive`.
Outcome<std::vector<Value>> keys_of(Interpreter& interpreter, const std::vector<Value>& items,
                                    const AttributePath& path, bool is_case_sensitive, const Value& otherwise = {});
/// Returns a text in lower case, and any other value unchanged.
Outcome<Value> without_case(Machine& machine, const Value& value);

}  // namespace modelutils::jinja
