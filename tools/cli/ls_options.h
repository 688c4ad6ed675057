#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "store/store_list.h"

namespace modelutils::cli {

struct LsArguments {
  StoreRequest request;
  std::string sort;
  bool json = false;
  bool names = false;
  bool duplicates = false;
  std::optional<std::string> hash;
};

Command ls_command(LsArguments& arguments);

}  // namespace modelutils::cli
