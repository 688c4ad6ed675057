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
  std::optional<std::string> max_rms;  ///< as it was given
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

/// Every flag; parse() fills `arguments`, which must outlive the command.
Command model_diff_command(ModelDiffArguments& arguments);

/// Fills `arguments.compare` with what follows from the flags. Errors: flags that contradict each other, a percentage
/// that is none.
Status finish(ModelDiffArguments& arguments);

}  // namespace modelutils::cli
