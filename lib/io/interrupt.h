// Signals that end a process: remove temporary files, then end with status 128 + N.
#pragma once

#include <string>

namespace modelutils {

/// Installs the handlers (once for a process; the tools' main does it). SIGPIPE is ignored, so that a closed pipe is
/// EPIPE from write().
void install_signal_handlers();

/// While one lives, those signals are ignored: for the moment in which several outputs get their names. Keep it short.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
};

/// A file that a signal must remove while this object lives. Lock-free towards the handler; up to 1,024 at a time.
class TemporaryFileGuard {
 public:
  TemporaryFileGuard() = default;
  explicit TemporaryFileGuard(const std::string& path);
  ~TemporaryFileGuard();
  TemporaryFileGuard(TemporaryFileGuard&& other) noexcept;
  TemporaryFileGuard& operator=(TemporaryFileGuard&& other) noexcept;

 private:
  int slot_ = -1;
};

}  // namespace modelutils
