// Generates -h and --help from the flag definitions that also parse the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace modelutils::cli {

/// Returns the text of --help: all flags after the examples, wrapped at `width` columns (40 to 110). `color` makes
/// headings bold.
std::string help_text(const Command& command, std::size_t width, bool color);

/// Returns the text of -h: the flags of Command::daily() and the first examples, as many as fit on a screen of 24
/// lines.
std::string short_help_text(const Command& command, std::size_t width, bool color);

/// Returns the text of --help=NAME: one group of flags. Returns nullopt if there is no such group.
std::optional<std::string> group_help_text(const Command& command, std::string_view name, std::size_t width,
                                           bool color);

/// Returns the group names for --help=: "fit" for "Memory (--fit)", "forms" for "Forms of output".
std::vector<std::string> group_names(const Command& command);

/// Parts shared with the man page: "TOOL [options] FILE…"; a flag's help with its choices; the group headings in order
/// of first use, the common one last.
std::string usage_line(const Command& command);
std::string help_of(const Flag& flag);
std::vector<std::string_view> groups(const Command& command);

}  // namespace modelutils::cli
