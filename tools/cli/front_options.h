// The command line of modelutils, which starts the other tools.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace modelutils::cli {

struct FrontArguments {
  std::string tool;
};

Command front_command(FrontArguments& arguments);

/// Returns the sorted names of the tools that it can start.
std::vector<std::string> tool_names();

}  // namespace modelutils::cli
