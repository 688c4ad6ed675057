// Signals that end a process: remove temporary files, then end with status 128 + N. Faults (a stack that cannot grow)
// remove them, too, and end it as the system does.
#pragma once

#include <string>

namespace modelutils {

/// Installs the handlers (once for a process; the tools' main does it). SIGPIPE is ignored, so that a closed pipe is
/// EPIPE from write().
void install_signal_handlers();

/// While one lives, those signals wait; when the last one goes, they end the process. For moments in which what is on
/// the disk and what the guards know are not the same. Keep it short.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;

  /// What a signal would have prevented is done: one that has waited came too late and is dropped.
  void done();
};

/// A file, or a folder that holds nothing but such files, that a signal must remove while this object lives. Lock-free
/// towards the handler; any number at a time.
class TemporaryFileGuard {
 public:
  struct Slot;

  TemporaryFileGuard() = default;
  /// Throws std::bad_alloc (before the path is known to the handler) where memory is out.
  explicit TemporaryFileGuard(const std::string& path);
  ~TemporaryFileGuard();
  TemporaryFileGuard(TemporaryFileGuard&& other) noexcept;
  TemporaryFileGuard& operator=(TemporaryFileGuard&& other) noexcept;

 private:
  Slot* slot_ = nullptr;
};

}  // namespace modelutils
