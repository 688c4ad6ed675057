#include "io/buffer_ring.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace modelutils {

namespace {
constexpr std::size_t page = 4096;
}

void BufferRing::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t(page));
}

BufferRing::BufferRing(std::size_t slots, std::size_t slot_bytes)
    : slot_bytes_(slot_bytes),
      memory_(static_cast<std::byte*>(::operator new(slots* slot_bytes, std::align_val_t(page)))),
      slots_(slots) {
  for (std::size_t i = 0; i < slots; ++i) slots_[i].data = memory_.get() + i * slot_bytes;
}

BufferRing::~BufferRing() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (const auto& consumer : consumers_) {
    if (consumer->thread.joinable()) consumer->thread.join();
  }
}

void BufferRing::add_consumer(Consumer consumer) {
  consumers_.push_back(std::make_unique<Running>());
  Running& running = *consumers_.back();
  running.work = std::move(consumer);
  try {
    running.thread = std::thread([this, &running] { consume(running); });
  } catch (const std::system_error&) {  // no thread to be had: publish() does the work
  } catch (const std::bad_alloc&) {     // nor memory for one
  }
}

void BufferRing::consume(Running& consumer) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || consumer.seen < published_; });
    if (ending_) return;
    const Slot& slot = slots_[consumer.seen % slots_.size()];
    lock.unlock();
    std::exception_ptr thrown;
    try {
      consumer.work(slot);
    } catch (...) {  // must not leave the thread's function: that would be the end of the process
      thrown = std::current_exception();
    }
    lock.lock();
    if (thrown) {
      thrown_ = std::move(thrown);
      ending_ = true;
    }
    ++consumer.seen;
    changed_.notify_all();
  }
}

template <typename Predicate>
void BufferRing::wait(std::unique_lock<std::mutex>& lock, Predicate is_done) {
  changed_.wait(lock, [&] { return thrown_ || is_done(); });
  if (thrown_) std::rethrow_exception(thrown_);
}

BufferRing::Slot& BufferRing::acquire() {
  std::unique_lock lock(mutex_);
  wait(lock, [&] {
    return std::all_of(consumers_.begin(), consumers_.end(),
                       [&](const auto& consumer) { return published_ - consumer->seen < slots_.size(); });
  });
  return slots_[published_ % slots_.size()];
}

void BufferRing::publish() {
  for (const auto& consumer : consumers_) {
    if (consumer->thread.joinable()) continue;
    consumer->work(slots_[published_ % slots_.size()]);
    ++consumer->seen;
  }
  {
    const std::lock_guard lock(mutex_);
    if (thrown_) std::rethrow_exception(thrown_);
    ++published_;
  }
  changed_.notify_all();
}

void BufferRing::finish() {
  std::unique_lock lock(mutex_);
  wait(lock, [&] {
    return std::all_of(consumers_.begin(), consumers_.end(),
                       [&](const auto& consumer) { return consumer->seen == published_; });
  });
}

}  // namespace modelutils
