// Helpers shared by the text methods and text filters.
#pragma once

#include <string_view>
#include <vector>

#include "template/calls.h"
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

}  // namespace modelutils::jinja
