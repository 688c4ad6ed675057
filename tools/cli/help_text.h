// --help of a tool, made from the same flags that parse the command line.
#pragma once

#include <string>

#include "cli/command.h"

namespace modelutils::cli {

/// The whole help, wrapped at `width` columns; `color` makes headings bold.
std::string help_text(const Command& command, std::size_t width, bool color);

/// Parts of it that the man page shares: "TOOL [options] FILE…"; what a flag does, with its choices; the headings in
/// the order in which the tool names them, the common one last.
std::string usage_line(const Command& command);
std::string help_of(const Flag& flag);
std::vector<std::string_view> groups(const Command& command);

}  // namespace modelutils::cli
