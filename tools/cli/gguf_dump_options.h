// The command line of gguf-dump.
#pragma once

#include "cli/command.h"
#include "report/gguf_dump.h"

namespace modelutils::cli {

struct GgufDumpArguments {
  std::vector<std::string> paths;
  std::vector<std::string> keys;
  std::vector<std::string> tensors;
  std::optional<std::string> get;
  std::optional<std::string> values;
  std::optional<u64> count;
  std::optional<std::string> list;
  bool no_tensors = false;
  bool json = false;
  bool json_array = false;
  bool markdown = false;
  bool data_offset = false;
  bool data_alignment = false;
  bool layers = false;
  bool stats = false;
  bool csv = false;
  bool jsonl = false;
};

/// Every flag; parse() fills `arguments`, which must outlive the command.
Command gguf_dump_command(GgufDumpArguments& arguments);

/// What to print, where and how. Errors: flags that contradict each other.
Result<GgufDumpOptions> dump_options(const GgufDumpArguments& arguments, const CommonOptions& common);

}  // namespace modelutils::cli
