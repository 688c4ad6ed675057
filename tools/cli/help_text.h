// --help of a tool, made from the same flags that parse the command line.
#pragma once

#include <string>

#include "cli/command.h"

namespace modelutils::cli {

/// The whole help, wrapped at `width` columns; `color` makes headings bold.
std::string help_text(const Command& command, std::size_t width, bool color);

}  // namespace modelutils::cli
