#include "io/interrupt.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/os/files.h"
#include "base/os/process.h"

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
std::atomic<bool> is_ending{false};

extern "C" void end_by_signal(int number) {
  if (held.load() > 0) {
    waiting.store(number);
    if (held.load() > 0) return;  // check again: the hold may have ended before the number was set
  }
  end_process(128 + number);
}

void remove_temporary_files() {
  is_ending.store(true);
  for (auto* slot = first_slot.load(); slot != nullptr; slot = slot->next) {
    if (const char* name = slot->path.load(); name != nullptr) os::remove_file(name);
  }
  // Then removes the folders. They may contain each other, so repeats until none can be removed.
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (auto* slot = first_slot.load(); slot != nullptr; slot = slot->next) {
      if (const char* name = slot->path.load(); name != nullptr && os::remove_folder(name)) goes_on = true;
    }
  }
}

}  // namespace

void end_process(int status) {
  remove_temporary_files();
  constexpr char erase[] = "\r\033[K";  // erases the progress bar, if any
  if (os::is_terminal(os::standard_error)) os::write(os::standard_error, erase, sizeof erase - 1);
  os::exit_now(status);
}

void install_signal_handlers() {
  os::handle_signals(end_by_signal, remove_temporary_files);
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
  std::unique_ptr<char, decltype(&std::free)> copy(static_cast<char*>(std::malloc(path.size() + 1)), &std::free);
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy.get(), path.c_str(), path.size() + 1);
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
  if (!is_ending.load()) std::free(path);  // otherwise the handler may be reading it; the process is about to end
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
