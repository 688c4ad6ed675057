// Generates a tool's shell completions: a template in the shell's language, filled in from the flag definitions that
// also parse the command line.
#pragma once

#include <string>

#include "cli/command.h"

namespace modelutils::generate {

/// Fills in `text`, a template. Placeholders:
/// - all shells: @tool@ is the tool, @id@ the tool as an identifier, @lister@ the tool that lists the keys and tensors
/// of its files.
/// - bash: @flags@ is a list of all names separated by spaces, @values@ a `case` branch for each flag with a value,
/// @positional@ the code for other arguments.
/// - zsh: @specs@ is the arguments of _arguments.
/// - fish: @specs@ is commands.
///
/// Lines between "#< names" and "#> names" are kept only if the tool has flags that take key or tensor names.
std::string bash_completion(const cli::Command& command, std::string text);
std::string zsh_completion(const cli::Command& command, std::string text);
std::string fish_completion(const cli::Command& command, std::string text);

}  // namespace modelutils::generate
