// The pages of docs/findings.md, compiled in: meaning, cause and remedy of each finding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

/// Returns the Markdown under the heading of a code, with links to other pages replaced by their text; nullopt if the
/// code has no page.
std::optional<std::string> page_of_finding(std::string_view code);

/// Returns the page as plain text under the code. Error (kind no_match): "verify-unknown-code".
Result<std::string> explained_finding(const std::string& code);

/// Removes code marks and links.
std::string plain_text(std::string_view markdown);

/// Returns the text up to the first full stop that ends a sentence.
std::string first_sentence(std::string_view text);

}  // namespace modelutils
