#pragma once

#include <string>

#include "cli/command.h"

namespace modelutils::cli {

struct LinkArguments {
  std::string name;
  std::string to;
  std::string how;
  std::string as;
  bool dry_run = false;
};

Command link_command(LinkArguments& arguments);

}  // namespace modelutils::cli
