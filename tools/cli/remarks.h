// Remarks of a conversion, on standard error.
#pragma once

#include <string>

#include "cli/command.h"

namespace modelutils::cli {

/// Prints the warnings and notes about the model at `path`. Three or more that repeat each other become one line with
/// their count (report/verify_text.h), unless -v or --errors=json is given.
void show_remarks(const Messages& messages, const CommonOptions& common, const Findings& remarks,
                  const std::string& path);

}  // namespace modelutils::cli
