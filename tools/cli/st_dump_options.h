// The command line of st-dump.
#pragma once

#include "cli/command.h"

namespace modelutils::cli {

struct StDumpArguments {
  std::vector<std::string> paths;
  std::vector<std::string> tensors;
  std::optional<std::string> get;
  std::optional<std::string> values;
  std::optional<u64> count;
  std::optional<std::string> list;
  bool json = false;
  bool modules = false;
  bool raw = false;
  bool stats = false;
  bool csv = false;
  bool jsonl = false;
};

/// Every flag; parse() fills `arguments`, which must outlive the command.
Command st_dump_command(StDumpArguments& arguments);

}  // namespace modelutils::cli
