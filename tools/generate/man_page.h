// Generates a tool's man page (section 1) from the flag definitions that also parse the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace modelutils::generate {

/// Returns man(7) source in ASCII (other characters as \[uXXXX]). `date` is in ISO 8601, `version` the project's
/// version; `tools` are listed under "See also".
std::string man_page(const cli::Command& command, std::string_view version, std::string_view date,
                     std::span<const std::string> tools);

}  // namespace modelutils::generate
