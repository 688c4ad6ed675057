// The command line of modelutils, which starts the other tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace modelutils::cli {

struct FrontArguments {
  std::string tool;
};

Command front_command(FrontArguments& arguments);

/// Returns the sorted names of the tools that it can start.
std::vector<std::string> tool_names();

/// Returns the usage line and the purpose of each tool, wrapped at `width` columns.
std::string tools_text(std::size_t width);

/// Returns the sorted names of the tools that have an option of this long name.
std::vector<std::string> tools_with(std::string_view option);

}  // namespace modelutils::cli
