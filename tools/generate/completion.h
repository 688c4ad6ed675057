// Shell completions of a tool: a template in the language of the shell, filled in from the flags that parse the command
// line.
#pragma once

#include <string>

#include "cli/command.h"

namespace modelutils::generate {

/// What stands for what in a template: @tool@ the tool, @id@ the same as an identifier, @lister@ the tool that lists
/// keys and tensors of its files, and for bash @flags@ (all names, one blank between), @values@ (a branch of `case` for
/// each flag with a value) and @positional@ (what to do for other arguments), for zsh @specs@ (arguments of
/// _arguments), for fish
/// @specs@ (commands). Lines between "#< names" and "#> names" stay only if the tool has flags that take such names.
std::string bash_completion(const cli::Command& command, std::string text);
std::string zsh_completion(const cli::Command& command, std::string text);
std::string fish_completion(const cli::Command& command, std::string text);

}  // namespace modelutils::generate
