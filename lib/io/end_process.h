// Ending at once, as after a signal.
#pragma once

namespace modelutils {

/// Removes the temporary files that have guards (io/interrupt.h) and ends the process with `status`, whatever else is
/// going on in it. Allocates nothing; may be called by signal handlers.
[[noreturn]] void end_process(int status);

}  // namespace modelutils
