// Ends the process at once, as after a signal.
#pragma once

namespace modelutils {

/// Removes the temporary files that have guards (io/interrupt.h) and ends the process with `status`, without waiting
/// for other threads. Does not allocate and is safe in signal handlers.
[[noreturn]] void end_process(int status);

}  // namespace modelutils
