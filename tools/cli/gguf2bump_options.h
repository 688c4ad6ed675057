// The command line of gguf2bump.
#pragma once

#include "cli/command.h"
#include "convert/to_bump/gguf_to_bump.h"

namespace modelutils::cli {

struct Gguf2bumpArguments {
  GgufToBumpOptions convert;
  std::optional<u64> align_head;
  std::string dtype_codes;  ///< empty if not given
  std::string bump_version = "3";
  std::string report;
  std::string repack;
  bool follow_links = false;
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command gguf2bump_command(Gguf2bumpArguments& arguments);

}  // namespace modelutils::cli
