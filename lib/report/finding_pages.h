// The pages of docs/findings.md, compiled in: what a finding means, how it happens, what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

/// The Markdown under the heading of a code, links to other pages as their text; nothing for a code that has none.
std::optional<std::string> page_of_finding(std::string_view code);

/// The page as text for people, under the code. Error (kind no_match) "verify-unknown-code".
Result<std::string> explained_finding(const std::string& code);

/// Without marks of code and links.
std::string plain_text(std::string_view markdown);

/// Up to the first full stop that ends a sentence.
std::string first_sentence(std::string_view text);

}  // namespace modelutils
