// Long output on a terminal goes through a pager, as git's does.
#pragma once

#include "cli/command.h"

namespace modelutils::cli {

/// If stdout is a terminal: starts $MODELUTILS_PAGER, else $PAGER, else less (which ends by itself where one screen is
/// enough), and sends what is written to stdout there. Not where the variable is empty or "cat", with --pager never, on
/// a dumb terminal unless `when` is always, or where nothing can be started.
void start_pager(When when);

/// Has start_pager() started one? Colours and widths are then those of the terminal.
bool has_pager();

/// Lets the pager come to its end; run_tool() calls it last.
void finish_pager();

}  // namespace modelutils::cli
