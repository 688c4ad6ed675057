// Handles signals that end the process: removes temporary files, then exits with 128 + N. Faults such as a stack
// overflow remove them, too, and then end the process with the system's default action.
#pragma once

#include <string>

namespace modelutils {

// Ends the process at once, as after a signal.

/// Removes the temporary files that have guards and ends the process with `status`, without waiting
/// for other threads. Does not allocate and is safe in signal handlers.
[[noreturn]] void end_process(int status);

/// Installs the handlers; call once per process (the tools' main does). Ignores SIGPIPE, so that write() to a closed
/// pipe fails with EPIPE.
void install_signal_handlers();

/// Defers those signals while an object exists. When the last one is destroyed, a pending signal ends the process. For
/// short sections in which the files on the disk and the guarded paths do not match, such as a rename.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;

  /// Drops a pending signal: the work that it should have prevented is complete.
  void done();
};

/// Has a signal remove a file, or a folder that contains only such files, while this object exists. The handler takes
/// no lock. Any number may exist at once.
class TemporaryFileGuard {
 public:
  struct Slot;

  TemporaryFileGuard() = default;
  /// Throws std::bad_alloc if out of memory; the path is not registered then.
  explicit TemporaryFileGuard(const std::string& path);
  ~TemporaryFileGuard();
  TemporaryFileGuard(TemporaryFileGuard&& other) noexcept;
  TemporaryFileGuard& operator=(TemporaryFileGuard&& other) noexcept;

 private:
  Slot* slot_ = nullptr;
};

}  // namespace modelutils
