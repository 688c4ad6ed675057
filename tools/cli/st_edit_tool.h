// Runs st-edit under either of its names.
#pragma once

#include "cli/st_edit_options.h"

namespace modelutils::cli {

/// Parses the command line, edits, and prints the report. Returns the exit status.
int run_st_edit(Command (*make)(StEditArguments& arguments), int argc, char** argv);

}  // namespace modelutils::cli
