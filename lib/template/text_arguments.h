// What the methods and filters of texts share.
#pragma once

#include <string_view>
#include <vector>

#include "template/calls.h"
#include "template/python_text.h"

namespace modelutils::jinja {

/// Asked for before `wanted` is looked for in `text`: std::string_view may compare it at every place.
Outcome<void> charge_search(Machine& machine, std::string_view text, std::string_view wanted);

/// A text that is not marked as safe: of one that is, Python would escape the arguments.
Outcome<std::string_view> plain_text(Machine& machine, const Value& value);
/// An argument that must be a text.
Outcome<std::string_view> text_argument(Machine& machine, const Value& value, std::string_view what);
/// The texts as a list.
Outcome<Value> texts(Machine& machine, const std::vector<std::string_view>& parts);

/// strip(), lstrip(), rstrip() with their one argument.
Outcome<Value> strip_value(Machine& machine, const Value& text, const Call& call, Side side);

/// split() and rsplit() with at most `most` splits (−1: all): at runs of blanks, at a separator.
std::vector<std::string_view> split_blanks(std::string_view text, i64 most);
std::vector<std::string_view> split_blanks_from_right(std::string_view text, i64 most);
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, i64 most);
std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator, i64 most);
/// How often `wanted`, which is not empty, is in a text, without overlaps.
std::size_t occurrences(std::string_view text, std::string_view wanted);
/// splitlines(): at all line ends that Unicode has.
Outcome<std::vector<std::string_view>> lines_of(Machine& machine, std::string_view text, bool keep_ends);

/// The first `most` (−1: all) of `before` replaced.
Outcome<Value> replaced(Machine& machine, std::string_view text, std::string_view before, std::string_view after,
                        i64 most);

}  // namespace modelutils::jinja
