#include "io/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace modelutils {

namespace {

constexpr int slots = 1024;

// Each slot owns a C string that the handler may read at any time. Replaced strings are never freed while a handler
// could look at them: a handler ends the process.
std::array<std::atomic<char*>, slots> paths{};

// While outputs get their names a signal has to wait: afterwards all of them are there, and it came too late.
std::atomic<int> held{0};

extern "C" void end_by_signal(int number) {
  if (held.load() > 0) return;
  for (std::atomic<char*>& path : paths) {
    if (const char* name = path.load(); name != nullptr) ::unlink(name);
  }
  constexpr char erase[] = "\r\033[K";  // a progress bar may stand there
  if (::isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, erase, sizeof erase - 1);
  }
  ::_exit(128 + number);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  sigfillset(&action.sa_mask);
  // Those that people, shells, batch systems and limits send, and abort().
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT}) {
    struct sigaction before {};
    // A signal that the parent ignores (nohup) stays ignored.
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), like a full disk
}

SignalHold::SignalHold() {
  ++held;
}

SignalHold::~SignalHold() {
  --held;
}

TemporaryFileGuard::TemporaryFileGuard(const std::string& path) {
  char* copy = ::strdup(path.c_str());
  for (int i = 0; i < slots; ++i) {
    char* expected = nullptr;
    if (paths[static_cast<std::size_t>(i)].compare_exchange_strong(expected, copy)) {
      slot_ = i;
      return;
    }
  }
  ::free(copy);
}

TemporaryFileGuard::~TemporaryFileGuard() {
  if (slot_ >= 0) ::free(paths[static_cast<std::size_t>(slot_)].exchange(nullptr));
}

TemporaryFileGuard::TemporaryFileGuard(TemporaryFileGuard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

TemporaryFileGuard& TemporaryFileGuard::operator=(TemporaryFileGuard&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

}  // namespace modelutils
