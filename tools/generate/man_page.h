// The man page of a tool (section 1), made from the flags that parse its command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace modelutils::generate {

/// man(7) source in ASCII (other characters as \[uXXXX]). `date` is ISO 8601, `version` the project's;
/// `tools` are named under "See also".
std::string man_page(const cli::Command& command, std::string_view version, std::string_view date,
                     std::span<const std::string> tools);

}  // namespace modelutils::generate
