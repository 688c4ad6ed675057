// What verify says of the text of a chat template, wherever it comes from.
#pragma once

#include <optional>
#include <string_view>

#include "base/finding_log.h"
#include "template/template.h"

namespace modelutils {

/// A template that does not parse, and what jinja::inspect() finds, as warnings. Parses and does not render. `where`: a
/// key, or empty; `offset`: of the text in its file, if it stands there verbatim. The template, if it parses.
std::optional<jinja::Template> check_chat_template(std::string_view text, std::string_view where,
                                                   std::optional<u64> offset, std::string_view file, FindingLog& log);

}  // namespace modelutils
