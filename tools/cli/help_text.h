// -h and --help of a tool, made from the same flags that parse the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace modelutils::cli {

/// --help: everything, examples first, wrapped at `width` columns (40 to 110); `color` makes headings bold.
std::string help_text(const Command& command, std::size_t width, bool color);

/// -h: what fits on one screen, the first examples and the flags of Command::daily().
std::string short_help_text(const Command& command, std::size_t width, bool color);

/// --help=NAME: one group of flags. Nothing if no group has that name.
std::optional<std::string> group_help_text(const Command& command, std::string_view name, std::size_t width,
                                           bool color);

/// What --help= calls the groups: "fit" for "Memory (--fit)", "forms" for "Forms of output".
std::vector<std::string> group_names(const Command& command);

/// Parts of it that the man page shares: "TOOL [options] FILE…"; what a flag does, with its choices; the headings in
/// the order in which the tool names them, the common one last.
std::string usage_line(const Command& command);
std::string help_of(const Flag& flag);
std::vector<std::string_view> groups(const Command& command);

}  // namespace modelutils::cli
