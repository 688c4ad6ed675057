// The command lines of gguf-dump and st-dump: one set of flags; each tool has those that its formats support.
#pragma once

#include <deque>

#include "cli/command.h"
#include "cli/fit_options.h"
#include "cli/page_output.h"
#include "cli/render_tool.h"
#include "report/dump.h"

namespace modelutils::cli {

struct DumpArguments {
  std::vector<std::string> paths;
  std::vector<std::string> keys;
  std::vector<std::string> tensors;
  std::vector<std::string> types;
  std::optional<u64> larger_than;
  std::optional<std::string> get;
  std::optional<std::string> values;
  std::optional<u64> count;
  std::optional<std::string> list;
  bool no_tensors = false;
  bool raw = false;
  bool json = false;
  bool json_array = false;
  bool modules = false;
  bool stats = false;
  std::vector<std::string> tokens;
  std::optional<std::string> tokenize;
  std::optional<std::string> detokenize;
  bool add_special = false;
  bool parse_special = false;
  FitArguments fit;
  RenderArguments render;
  PageOutput page;
  /// For each of listing_forms(), true if its flag was given. A deque, because its elements do not move.
  std::deque<bool> forms = std::deque<bool>(listing_forms().size());

  /// Returns the first option that selects tensors; empty if there is none.
  std::string_view tensor_selection() const;
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command and must not move.
Command gguf_dump_command(DumpArguments& arguments);
Command st_dump_command(DumpArguments& arguments);

/// Converts the arguments to a request. Errors: flags that contradict each other.
Result<DumpRequest> dump_request(const DumpArguments& arguments, const CommonOptions& common);

}  // namespace modelutils::cli
