// The command line of model-diff.
#pragma once

#include "cli/command.h"
#include "cli/page_output.h"
#include "compare/compare.h"
#include "report/model_diff.h"

namespace modelutils::cli {

struct ModelDiffArguments {
  CompareOptions compare;
  std::string a, b;
  std::optional<std::string> max_rms;  ///< as typed
  std::optional<u64> top;
  std::optional<u64> extract_rank;  ///< --extract-lora
  std::string output;
  bool force = false;
  bool brief = false;
  bool json = false;
  bool csv = false;
  bool markdown = false;
  PageOutput page;
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command model_diff_command(ModelDiffArguments& arguments);

/// Completes `arguments.compare` from the flags. Errors: contradictory flags, an invalid percentage.
Status finish(ModelDiffArguments& arguments);

}  // namespace modelutils::cli
