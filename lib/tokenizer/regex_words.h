// The few texts that a part of a regex matches, where it matches no others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace modelutils::tokenizer {

using Words = std::vector<std::string>;
/// More texts than this are not listed.
constexpr std::size_t max_words = 64;

/// Every left one followed by every right one. Nothing if one side is not listed, or there would be too many.
std::optional<Words> product(const std::optional<Words>& left, const std::optional<Words>& right);

/// The words sorted, each once. Nothing if one begins another: then the order of the alternatives matters.
std::optional<Words> order_free(Words words);

/// "<c>" if `words` (sorted) are the English contractions 's 't 're 've 'm 'll 'd, "<C>" for both cases, else nothing.
std::string_view contractions_name(const Words& words);

}  // namespace modelutils::tokenizer
