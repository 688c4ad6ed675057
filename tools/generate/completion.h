// Generates a tool's shell completions: a template in the shell's language, filled in from the flag definitions that
// also parse the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace modelutils::generate {

/// The commands of modelutils, such as "ls", and their completions, one after the other.
struct CommandParts {
  std::vector<std::string> names;
  std::string text;
};

/// Fills in `text`, a template. Placeholders:
/// - all shells: @tool@ is the program, @id@ the program as an identifier, @main@ the same for the command ("ls" of
/// modelutils has functions of its own), @lister@ the tool that lists the keys and tensors of its files.
/// - of modelutils: @commands@ is the names of its commands, @parts@ their completions.
/// - bash: @flags@ is a list of all names separated by spaces, @values@ a `case` branch for each flag with a value,
/// @positional@ the code for other arguments.
/// - zsh: @specs@ is the arguments of _arguments.
/// - fish: @specs@ is commands.
///
/// Lines between "#< names" and "#> names" are kept only if the tool has flags that take key or tensor names, and
/// likewise for addresses, commands and so on. "modelutils ls" and "modelutils link" become parts of modelutils'
/// completion, without the functions that they share with it.
std::string bash_completion(const cli::Command& command, std::string text, const CommandParts& parts = {});
std::string zsh_completion(const cli::Command& command, std::string text, const CommandParts& parts = {});
std::string fish_completion(const cli::Command& command, std::string text, const CommandParts& parts = {});

}  // namespace modelutils::generate
