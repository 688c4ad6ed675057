// The finite set of texts that a part of a regex matches, if it is small.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modelutils::tokenizer {

using Words = std::vector<std::string>;
/// Larger sets are not listed.
constexpr std::size_t max_words = 64;

/// Returns every left word followed by every right word; nullopt if one side is not listed or the result is too large.
std::optional<Words> product(const std::optional<Words>& left, const std::optional<Words>& right);

/// Returns the words sorted, without duplicates. Returns nullopt if a word is a prefix of another, because then the
/// order of the alternatives matters.
std::optional<Words> order_free(Words words);

/// Returns "<c>" if `words` (sorted) are the English contractions 's 't 're 've 'm 'll 'd, "<C>" if they are these in
/// both cases, else an empty text.
std::string_view contractions_name(const Words& words);

}  // namespace modelutils::tokenizer
