// Shows long output on a terminal with a pager, as git does.
#pragma once

#include "cli/command.h"

namespace modelutils::cli {

/// If stdout is a terminal, starts $MODELUTILS_PAGER, $PAGER or less (set to quit if the output fits on one screen) and
/// redirects stdout to it. Does nothing if the variable is empty or "cat", with --pager never, on a dumb terminal
/// unless `when` is always, or if no pager can be started.
void start_pager(When when);

/// True if start_pager() has started a pager. Colours and widths are then those of the terminal.
bool has_pager();

/// Waits until the pager ends. run_tool() calls it last.
void finish_pager();

}  // namespace modelutils::cli
