// What of TOML a policy may use. Internal.
#pragma once

#include <optional>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// The line (from 1) of the first thing that is not a table's header, or a name with a text, a whole number, true,
/// false or a list of such; nothing if all is. Texts are of one line; tables and lists in others are not among it,
/// since no member of a policy is one. toml++ 3.3 asserts what a file may well lack, so it is given nothing else than
/// this.
std::optional<u64> line_outside_grammar(std::string_view text);

}  // namespace modelutils
