#include "io/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace modelutils {

namespace {

// Number of SignalHold objects; signals are deferred while it is not 0.
std::atomic<int> held{0};
std::atomic<int> waiting{0};  // the deferred signal

}  // namespace

// Owns a C string that the handler may read at any time. Slots are reused but never freed, because the handler may be
// walking the list.
struct TemporaryFileGuard::Slot {
  std::atomic<char*> path{nullptr};
  Slot* next = nullptr;       // set before the slot is published
  Slot* next_free = nullptr;  // protected by free_slots_mutex
};

namespace {

std::atomic<TemporaryFileGuard::Slot*> first_slot{nullptr};
std::mutex free_slots_mutex;  // never taken by the handler
TemporaryFileGuard::Slot* first_free_slot = nullptr;
std::atomic<bool> ending{false};

extern "C" void end_by_signal(int number) {
  if (held.load() > 0) {
    waiting.store(number);
    if (held.load() > 0) return;  // check again: the hold may have ended before the number was set
  }
  end_process(128 + number);
}

void remove_temporary_files() {
  ending.store(true);
  for (auto* slot = first_slot.load(); slot != nullptr; slot = slot->next) {
    if (const char* name = slot->path.load(); name != nullptr) ::unlink(name);
  }
  for (auto* slot = first_slot.load(); slot != nullptr; slot = slot->next) {  // folders, which are empty now
    if (const char* name = slot->path.load(); name != nullptr) ::rmdir(name);
  }
}

// SA_RESETHAND has restored the default action by now, so raising the signal ends the process as usual, with a core
// dump if enabled. raise() is needed for a signal sent by another process, which does not recur.
extern "C" void end_by_fault(int number) {
  remove_temporary_files();
  ::raise(number);
}

// Handles SIGSEGV and the like: a stack that cannot grow (out of memory, or a limit) or a bug in our code. Not under
// sanitizers, whose own handlers report more.
void install_fault_handlers() {
  alignas(16) static std::byte stack[16 * 1024];  // the normal stack may be exhausted
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  if (::sigaltstack(&alternative, nullptr) != 0) return;
  struct sigaction action {};
  action.sa_handler = end_by_fault;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigfillset(&action.sa_mask);
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      ::sigaction(number, &action, nullptr);
    }
  }
}

}  // namespace

void end_process(int status) {
  remove_temporary_files();
  constexpr char erase[] = "\r\033[K";  // erases the progress bar, if any
  if (::isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, erase, sizeof erase - 1);
  }
  ::_exit(status);
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  sigfillset(&action.sa_mask);
  // Signals from people, shells, batch systems and resource limits, and from abort().
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT}) {
    struct sigaction before {};
    // A signal that the parent ignores (nohup) stays ignored.
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
  install_fault_handlers();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a write() error, like a full disk
}

SignalHold::SignalHold() {
  ++held;
}

SignalHold::~SignalHold() {
  if (--held > 0) return;
  if (const int number = waiting.exchange(0); number != 0) end_by_signal(number);
}

void SignalHold::done() {
  waiting.store(0);
}

TemporaryFileGuard::TemporaryFileGuard(const std::string& path) {
  std::unique_ptr<char, decltype(&::free)> copy(::strdup(path.c_str()), &::free);
  if (copy == nullptr) throw std::bad_alloc();
  const std::lock_guard lock(free_slots_mutex);
  if (first_free_slot != nullptr) {
    slot_ = std::exchange(first_free_slot, first_free_slot->next_free);
    slot_->path = copy.release();
    return;
  }
  slot_ = new Slot;
  slot_->path = copy.release();
  slot_->next = first_slot.load();
  first_slot.store(slot_);
}

TemporaryFileGuard::~TemporaryFileGuard() {
  if (slot_ == nullptr) return;
  char* path = slot_->path.exchange(nullptr);
  if (!ending.load()) ::free(path);  // otherwise the handler may be reading it; the process is about to end
  const std::lock_guard lock(free_slots_mutex);
  slot_->next_free = std::exchange(first_free_slot, slot_);
}

TemporaryFileGuard::TemporaryFileGuard(TemporaryFileGuard&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)) {}

TemporaryFileGuard& TemporaryFileGuard::operator=(TemporaryFileGuard&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

}  // namespace modelutils
