// Helpful answers to mistakes on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace modelutils::cli {

/// Returns the message for an unknown option: this tool's name for it (foreign_options.h), another tool that has it, or
/// the closest name.
std::string unknown_option(std::string_view given, const std::vector<Flag>& flags);

/// A command line with more positional arguments than the tool takes.
struct Surplus {
  std::string_view tool;
  const std::vector<std::string>& positionals;  ///< all of them
  std::size_t taken;                            ///< number of positional arguments that the tool takes
  const std::vector<std::string>& outputs;      ///< values of -o
};
std::string unexpected_argument(const Surplus& given, const std::vector<Flag>& flags);

/// Returns a usage error for a value without "=" of a flag that takes KEY=VALUE. `arguments` is the command line if it
/// has more positional arguments than the tool takes; one of them is then probably the part after "=".
Status check_pair(const Flag& flag, const std::string& value, const std::vector<std::string>& arguments);

/// Replaces the message of an error about a path that is not a model but refers to one: a manifest of Ollama, a folder
/// of GGUF files.
Error explained(Error error);

}  // namespace modelutils::cli
